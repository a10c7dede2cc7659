// Where PMIx's headers were not found when this was built.

#include "absl/status/status.h"
#include "drydock/apps/common/ranks/pmix_ranks.h"

namespace drydock::apps {

absl::StatusOr<std::unique_ptr<Ranks>> JoinByPmix(std::size_t, std::size_t) {
  return absl::UnimplementedError(
      "join the launcher's ranks: this program was built without PMIx (the package libpmix-dev)");
}

}  // namespace drydock::apps
