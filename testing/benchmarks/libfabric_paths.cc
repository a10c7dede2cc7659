#include "drydock/testing/benchmarks/libfabric_paths.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/libfabric/api.h"
#include "drydock/fabric/libfabric/libfabric_fabric.h"
#include "drydock/fabric/libfabric/provider_selection.h"
#include "drydock/testing/benchmarks/contract_path.h"
#include "drydock/testing/benchmarks/raw_end.h"

namespace drydock::bench {

absl::StatusOr<std::unique_ptr<PairPath>> OpenRawLibfabricPath(const std::string& provider,
                                                               const Buffers& buffers) {
  ASSIGN_OR_RETURN(fabric::libfabric::Api* const api, fabric::libfabric::RealApi());
  ASSIGN_OR_RETURN(const auto nics, fabric::libfabric::SelectNics(*api, provider));
  fi_info& info = *nics.front().info;
  const bool pauses = provider == "shm";
  ASSIGN_OR_RETURN(auto initiator,
                   RawEnd::Open(info, buffers.source(), buffers.length_bytes(), pauses));
  ASSIGN_OR_RETURN(auto target,
                   RawEnd::Open(info, buffers.target(), buffers.length_bytes(), pauses));
  RETURN_IF_ERROR(initiator->WriteTo(*target));
  RETURN_IF_ERROR(target->WriteTo(*initiator));
  return std::make_unique<PathOfEnds<RawEnd>>(absl::StrCat(provider, ", raw calls"),
                                              /*keeps_alive=*/nullptr, /*idle=*/nullptr,
                                              std::move(initiator), std::move(target));
}

absl::StatusOr<std::unique_ptr<PairPath>> OpenLibfabricBackendPath(const std::string& provider,
                                                                   const Buffers& buffers) {
  ASSIGN_OR_RETURN(auto opened, fabric::libfabric::OpenLibfabric(provider));
  const std::shared_ptr<fabric::Fabric> shared = std::move(opened);
  return OpenContractPath(
      {.name = absl::StrCat(provider, ", our backend"), .initiator = shared, .target = shared},
      buffers);
}

}  // namespace drydock::bench
