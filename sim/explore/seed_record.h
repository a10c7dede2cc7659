// The messages of a worker process to the explorer, as bytes in a pipe: frames of a length, a kind
// and a body. Both ends are the same program, so that numbers go as they are.

#ifndef DRYDOCK_SIM_EXPLORE_SEED_RECORD_H_
#define DRYDOCK_SIM_EXPLORE_SEED_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "drydock/sim/explore/verdict.h"

namespace drydock::sim::explore {

struct SeedRecord {
  bool started = false;  // the seed begins; otherwise it has ended as `result` says
  SeedResult result;     // when started: the seed alone
};

// Appends the frame of a record.
void AppendStarted(std::string& bytes, std::uint64_t seed);
void AppendEnded(std::string& bytes, const SeedResult& result);

// Takes the first frame off `bytes`; absent while it is not whole.
std::optional<SeedRecord> TakeRecord(std::string_view& bytes);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_SEED_RECORD_H_
