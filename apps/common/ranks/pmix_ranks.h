// Ranks that tell each other by PMIx. For launched_ranks.cc.

#ifndef DRYDOCK_APPS_COMMON_RANKS_PMIX_RANKS_H_
#define DRYDOCK_APPS_COMMON_RANKS_PMIX_RANKS_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "drydock/apps/common/ranks/ranks.h"

namespace drydock::apps {

// This rank, of so many, as the launcher's environment has it. See JoinLaunch.
absl::StatusOr<std::unique_ptr<Ranks>> JoinByPmix(std::size_t rank, std::size_t size);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_RANKS_PMIX_RANKS_H_
