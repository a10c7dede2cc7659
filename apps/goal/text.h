// GOAL as text, as LogGOPSim's txt2bin reads it and its generators write it:
//
//   num_ranks 2
//   rank 0 {
//   l1: send 4096b to 1 tag 7 cpu 0 nic 0
//   l2: calc 250                             nanoseconds
//   l2 requires l1                           begins when l1 has ended; irequires: when it has begun
//   }
//   rank 1 {
//   recv 4096b from 0 tag 7                  from -1: from any rank; tag -1: of any tag
//   }
//
// (spcl/LogGOPSim src/LogGOPSim/txt2bin.re.) Comments are // and /* */. What stands behind `to` and
// `from` may be left out, and is 0; here it may come in any order, and a label may be used before
// its line.

#ifndef DRYDOCK_APPS_GOAL_TEXT_H_
#define DRYDOCK_APPS_GOAL_TEXT_H_

#include <cstddef>
#include <ostream>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/goal/schedule.h"

namespace drydock::apps::goal {

inline constexpr std::size_t kMostFileBytes = std::size_t{1} << 30;
inline constexpr std::size_t kMostWordsOfLine = 4096;
inline constexpr std::size_t kMostWaitsOfFile = std::size_t{1} << 25;  // of 48 bytes each

// Of a file; a test has smaller ones.
struct GoalLimits {
  std::size_t operations = kMostOps;
  std::size_t waits = kMostWaitsOfFile;
};

// kInvalidArgument: "line 12: ..." says what is wrong there: a word, a number, a label that no
// operation has or two have, a rank that is not there or there twice, operations that wait for each
// other in a circle, more of them or more waits than the limits, more words than above.
absl::StatusOr<Schedule> ReadGoal(absl::string_view text, const GoalLimits& limits = {});

// Every operation has a label, and the waits of a rank follow its operations. ReadGoal reads the
// same schedule from it.
void WriteGoal(const Schedule& schedule, std::ostream& out);

}  // namespace drydock::apps::goal

#endif  // DRYDOCK_APPS_GOAL_TEXT_H_
