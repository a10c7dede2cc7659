// What a worker process tells the explorer of each seed, as bytes in a pipe: a length and a body.
// Both ends are the same program, so that numbers go as they are.

#ifndef DRYDOCK_SIM_EXPLORE_SEED_RECORD_H_
#define DRYDOCK_SIM_EXPLORE_SEED_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "drydock/sim/explore/verdict.h"

namespace drydock::sim::explore {

// Appends the record of a seed that has ended.
void AppendRecord(std::string& bytes, const SeedResult& result);

// Takes the first record off `bytes`; absent while it is not whole.
std::optional<SeedResult> TakeRecord(std::string_view& bytes);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_SEED_RECORD_H_
