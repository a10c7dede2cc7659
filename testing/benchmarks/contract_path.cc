#include "drydock/testing/benchmarks/contract_path.h"

#include <utility>

#include "drydock/coro/status_macros.h"
#include "drydock/testing/benchmarks/contract_end.h"

namespace drydock::bench {

absl::StatusOr<std::unique_ptr<PairPath>> OpenContractPath(const ContractBackend& backend,
                                                           const Buffers& buffers) {
  ASSIGN_OR_RETURN(auto initiator,
                   ContractEnd::Open(*backend.initiator, buffers.source(), buffers.length_bytes()));
  ASSIGN_OR_RETURN(auto target,
                   ContractEnd::Open(*backend.target, buffers.target(), buffers.length_bytes()));
  RETURN_IF_ERROR(initiator->WriteTo(*target));
  RETURN_IF_ERROR(target->WriteTo(*initiator));
  return std::make_unique<PathOfEnds<ContractEnd>>(
      backend.name, std::make_shared<ContractBackend>(backend), backend.idle, std::move(initiator),
      std::move(target));
}

}  // namespace drydock::bench
