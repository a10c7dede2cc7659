// An endpoint of an EFA NIC whose queues a device may drive, opened by libfabric itself.

#ifndef DRYDOCK_GPU_GDA_LIBFABRIC_ENDPOINT_H_
#define DRYDOCK_GPU_GDA_LIBFABRIC_ENDPOINT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/gpu/gda/libfabric_queue.h"
#include "drydock/gpu/gda/queue/queue.h"

namespace drydock::gpu::gda {

// Ownership: the caller's; whatever maps its queues lets them go before it closes. Threads: one at
// a time.
class LibfabricEndpoint {
 public:
  virtual ~LibfabricEndpoint() = default;

  // Fabric efa-direct on the NIC with that name; empty: on the first one. kNotFound: there is no
  // such NIC, or no EFA NIC at all; kUnimplemented: what OpenGdaOps says; kInternal: the library's
  // error.
  static absl::StatusOr<std::unique_ptr<LibfabricEndpoint>> Open(const std::string& nic);

  // The name of the NIC: rdmap79s0. Lives as long as the endpoint.
  virtual const std::string& nic() const = 0;
  // Host addresses: the send ring and the doorbells are the NIC's own memory.
  virtual const QueueView& View() const = 0;
  // "libfabric 2.4"
  virtual std::string library() const = 0;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_LIBFABRIC_ENDPOINT_H_
