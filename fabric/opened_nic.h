// One NIC of a fabric, opened with the defaults that fit most programs: one completion queue for
// everything, one address vector, one endpoint.
//
//   ASSIGN_OR_RETURN(fabric::OpenedNic nic, fabric::OpenNic(*fabric));
//   ASSIGN_OR_RETURN(const fabric::Peer peer, nic.peers->Insert(address));
//   nic.endpoint->Write(...);
//
// A program that wants separate queues or other endpoint options opens them from a Domain itself.
// fabric/async/node.h is the same for coroutines.

#ifndef DRYDOCK_FABRIC_OPENED_NIC_H_
#define DRYDOCK_FABRIC_OPENED_NIC_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "drydock/fabric/fabric.h"

namespace drydock::fabric {

struct OpenNicOptions {
  std::size_t nic = 0;  // index in Fabric::nics()
  // The queue has the power BlockingWait where the NIC offers it (Capability::kBlockingWait).
  bool may_block = false;
  std::size_t queue_depth = 0;  // CompletionQueueOptions::depth
};

// A value that can only be moved. Its members are destroyed in reverse order: the endpoint first.
struct OpenedNic {
  std::unique_ptr<Domain> domain;
  std::unique_ptr<AddressVector> peers;
  std::unique_ptr<CompletionQueue> queue;
  std::unique_ptr<Endpoint> endpoint;

  // The options of an endpoint that shares the queue and the address vector.
  EndpointOptions endpoint_options() const {
    EndpointOptions options;
    options.send_queue = options.receive_queue = queue.get();
    options.address_vector = peers.get();
    return options;
  }
};

// Errors: those of Fabric::OpenDomain and of what Domain opens. Nothing stays open then.
absl::StatusOr<OpenedNic> OpenNic(Fabric& fabric, const OpenNicOptions& options = {});

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_OPENED_NIC_H_
