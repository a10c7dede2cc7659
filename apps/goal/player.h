// Runs a schedule on simulated machines, one for each rank.
//
//   send     a CPU's time to post, then a write with immediate by the NIC it names, to the NIC of
//            that number at the peer; it ends when its completion is read: the bytes are there
//   recv     ends a CPU's time to poll after the message has come, or after it was posted
//   calc     a CPU's time
//
// A rank's CPU does one thing after the other, in the order in which they could begin. Messages go
// at once, whether their receive is posted or not: there is no rendezvous. A schedule has no data,
// so all ranks send from and to the same memory, and no byte is moved.

#ifndef DRYDOCK_APPS_GOAL_PLAYER_H_
#define DRYDOCK_APPS_GOAL_PLAYER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/goal/schedule.h"
#include "drydock/coro/time.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::goal {

// With so many, collectives of long messages take as long as by packets within 3 %, and a tenth of
// the events (docs/fidelity.md); with more they do not.
inline constexpr std::uint32_t kFlowPackets = 16;

// A schedule that runs longer has a mistake in it, and the clock has an end.
inline constexpr coro::Duration kMostSimulated = std::chrono::hours(24 * 100);

struct PlayOptions {
  std::uint64_t seed = 1;
  bool flows = false;   // one event stands for kFlowPackets packets of a message
  bool checks = false;  // those of sim/checks: memory and time for each operation
  // Called now and then.
  std::function<void(std::uint64_t done)> progress = [](std::uint64_t) {};
};

// What one rank did.
struct RankResult {
  coro::Duration ended{};  // when its last operation had
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;  // that it sent
};

struct PlayResult {
  std::vector<RankResult> ranks;
  coro::Duration simulated{};         // until the last one had ended
  std::uint64_t events = 0;           // of the simulator
  std::uint64_t unreceived = 0;       // messages that came, and that no receive wanted
  std::vector<std::string> findings;  // rules that the run broke, where it was checked
};

// Of all machines, of some 20 KiB each.
inline constexpr std::uint64_t kMostNics = 65536;

// kInvalidArgument: machines of this profile have fewer NICs, or they are more than kMostNics in all.
absl::Status CheckMachines(std::uint64_t machines, std::uint64_t nics, const sim::Profile& profile);

// kInvalidArgument: what CheckMachines says, or NICs of this profile cannot send so much at once.
// kFailedPrecondition: a receive waits for a message that never comes, or that is longer: one line
// says which, and how much is left; or an operation ends after kMostSimulated. Others: those of the
// fabric, and of a write that failed.
absl::StatusOr<PlayResult> Play(const Schedule& schedule, const sim::Profile& profile,
                                const PlayOptions& options = {});

}  // namespace drydock::apps::goal

#endif  // DRYDOCK_APPS_GOAL_PLAYER_H_
