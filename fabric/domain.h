// An opened NIC: the parent of its regions, queues and endpoints.

#ifndef DRYDOCK_FABRIC_DOMAIN_H_
#define DRYDOCK_FABRIC_DOMAIN_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/address_vector.h"
#include "drydock/fabric/capability.h"
#include "drydock/fabric/completion_queue.h"
#include "drydock/fabric/counter.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/nic_info.h"

namespace drydock::fabric {

// What it is: a protection domain of one NIC. Keys and queues of one domain are invalid in
// another. Ownership: belongs to the caller that opened it; what was opened from it keeps
// it working. Threads: as its Fabric. Blocking: opening and registering may enter the kernel.
// Destruction: closes; if something opened from it is still open, it lives on until the last of
// these is gone. Errors: kInvalidArgument for options out of range or objects of another domain,
// kResourceExhausted for a limit of the device or of locked memory, kUnimplemented for what this
// backend cannot do. The message has the provider's words.
class Domain : public Capable {
 public:
  // The NIC, with the limits that were really granted.
  virtual const NicInfo& nic() const = 0;

  // Registers the caller's memory with this NIC for the uses in request.access. The memory is
  // pinned until the region is closed.
  virtual absl::StatusOr<std::unique_ptr<MemoryRegion>> RegisterMemory(
      const MemoryRequest& request) = 0;
  // With at least options.depth entries (0: the backend's default). Endpoints may share it.
  virtual absl::StatusOr<std::unique_ptr<CompletionQueue>> OpenCompletionQueue(
      const CompletionQueueOptions& options) = 0;
  // An empty address vector. Its peers are valid for the endpoints that are opened with it.
  virtual absl::StatusOr<std::unique_ptr<AddressVector>> OpenAddressVector() = 0;
  // kUnimplemented without Capability::kCounters.
  virtual absl::StatusOr<std::unique_ptr<Counter>> OpenCounter() = 0;

  // Opens an endpoint that is bound and enabled: peers may reach it at once.
  virtual absl::StatusOr<std::unique_ptr<Endpoint>> OpenEndpoint(
      const EndpointOptions& options) = 0;

  // kBusy (FailedPrecondition): something opened from it is still open. Closing twice is harmless.
  virtual absl::Status Close() = 0;
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_DOMAIN_H_
