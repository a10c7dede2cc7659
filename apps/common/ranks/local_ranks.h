// Ranks that are all in this process, on one loop: those of a simulated run.

#ifndef DRYDOCK_APPS_COMMON_RANKS_LOCAL_RANKS_H_
#define DRYDOCK_APPS_COMMON_RANKS_LOCAL_RANKS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "drydock/apps/common/ranks/ranks.h"

namespace drydock::apps {

// All of them, by rank. They may die in any order.
std::vector<std::unique_ptr<Ranks>> MakeLocalRanks(std::size_t size);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_RANKS_LOCAL_RANKS_H_
