// From EndpointOptions to an enabled endpoint of the library.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_ENDPOINT_OPENING_H_
#define DRYDOCK_FABRIC_LIBFABRIC_ENDPOINT_OPENING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/fabric/libfabric/libfabric_domain.h"

namespace drydock::fabric::libfabric {

// A counter and the operations that raise it.
struct BoundCounter {
  std::shared_ptr<CounterCore> counter;
  std::uint64_t events;  // FI_SEND, ...
  const char* name;      // of its field in CounterBindings
};

// The parts of an endpoint, checked to be of one domain. It keeps them all.
struct EndpointParts {
  std::shared_ptr<QueueCore> send_queue;
  std::shared_ptr<QueueCore> receive_queue;
  std::shared_ptr<VectorCore> peers;
  std::vector<BoundCounter> counters;
};

// An endpoint that is bound and enabled, and what it can do.
struct OpenedEndpoint {
  Handle<fid_ep> handle;
  Address address;
  Limits limits;
  CapabilitySet capabilities;
};

// kInvalidArgument: a part is missing, closed, or of another domain.
absl::StatusOr<EndpointParts> CheckParts(const std::shared_ptr<DomainCore>& domain,
                                         const EndpointOptions& options);

// `capabilities`: of the open domain. On failure everything that was opened is closed again.
absl::StatusOr<OpenedEndpoint> OpenAndEnable(DomainCore& domain, const CapabilitySet& capabilities,
                                             const EndpointOptions& options,
                                             const EndpointParts& parts);

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_ENDPOINT_OPENING_H_
