// Translates a MemoryRequest to the arguments of a registration in libfabric.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_REGISTRATION_H_
#define DRYDOCK_FABRIC_LIBFABRIC_REGISTRATION_H_

#include <rdma/fi_domain.h>
#include <sys/uio.h>

#include <cstdint>

#include "absl/status/status.h"
#include "drydock/fabric/memory.h"

namespace drydock::fabric::libfabric {

// Arguments of fi_mr_regattr. Refers to itself: stays where it was filled.
struct Registration {
  fi_mr_attr attributes{};
  std::uint64_t flags = 0;
  iovec range{};
#ifdef FI_MR_DMABUF
  fi_mr_dmabuf dmabuf{};
#endif
};

// Fills `registration`, but for the key. `info`: the NIC's, with the capabilities that its domain
// was opened with. kUnimplemented: device memory, or a dmabuf, that this build, this library or
// this provider cannot register; the message names what is missing and what helps.
absl::Status Describe(const MemoryRequest& request, const fi_info& info,
                      Registration& registration);

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_REGISTRATION_H_
