// libfabric as a backend.
//
//   ASSIGN_OR_RETURN(auto fabric, fabric::libfabric::OpenLibfabric("tcp"));

#ifndef DRYDOCK_FABRIC_LIBFABRIC_LIBFABRIC_FABRIC_H_
#define DRYDOCK_FABRIC_LIBFABRIC_LIBFABRIC_FABRIC_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/libfabric/api.h"

namespace drydock::fabric::libfabric {

struct LibfabricOptions {
  // Memory of GPUs will be registered: FI_HMEM is asked for where the provider has it. Not without
  // need: then a provider may look at every address, and EFA's opens a CUDA context
  // (ofiwg/libfabric prov/efa/src/efa_hmem.c).
  bool device_memory = false;
};

// `provider`: efa, efa-direct, tcp, shm, or another name of libfabric's. kNotFound: it offers no
// NIC here. kFailedPrecondition: no libfabric can be loaded (library.h).
absl::StatusOr<std::unique_ptr<Fabric>> OpenLibfabric(absl::string_view provider,
                                                      const LibfabricOptions& options = {});

// The same over `api`, which outlives everything that is opened. REQUIRES: libfabric can be loaded,
// for its words and its empty structures, which are no calls of the control path.
absl::StatusOr<std::unique_ptr<Fabric>> OpenLibfabric(absl::string_view provider, Api& api,
                                                      const LibfabricOptions& options = {});

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_LIBFABRIC_FABRIC_H_
