// libfabric as a backend.
//
//   ASSIGN_OR_RETURN(auto fabric, fabric::libfabric::OpenLibfabric("tcp"));

#ifndef FABRIC_LIBFABRIC_LIBFABRIC_FABRIC_H_
#define FABRIC_LIBFABRIC_LIBFABRIC_FABRIC_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fabric/fabric.h"
#include "fabric/libfabric/api.h"

namespace fabric::libfabric {

// `provider`: efa, efa-direct, tcp, shm, or another name of libfabric's. kNotFound: it offers no
// NIC here. `api` outlives everything that is opened.
absl::StatusOr<std::unique_ptr<Fabric>> OpenLibfabric(absl::string_view provider,
                                                      Api& api = RealApi());

}  // namespace fabric::libfabric

#endif  // FABRIC_LIBFABRIC_LIBFABRIC_FABRIC_H_
