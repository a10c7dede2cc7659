// Runs a schedule on simulated machines, one for each rank.
//
//   send     takes CPU time to post, then writes with an immediate by the NIC that it names to the
//            peer's NIC of the same number; ends when its completion is read: the bytes are there
//   recv     takes CPU time to poll, once it is posted and its message has come
//   calc     takes CPU time
//
// A rank's CPU runs one operation at a time, in the order in which they become ready. A send does
// not wait for its receive: there is no rendezvous. A schedule has no data, so all ranks send from
// and to the same memory, and no byte is moved.

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

// Packets for which one event stands (Profile::flow_packets). With this value, collectives of long
// messages take the time of single packets within 3 %, and a fourteenth of the events
// (docs/fidelity.md); larger ones differ more.
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

// The most NICs of all machines together; each takes some 20 KiB of memory.
inline constexpr std::uint64_t kMostNics = 65536;

// The same of CPUs, of which each machine has as many as the schedule names; each takes 700 bytes.
inline constexpr std::uint64_t kMostCpus = std::uint64_t{1} << 20;

// kInvalidArgument: a machine of this profile has fewer NICs, or all machines together have more
// than kMostNics. REQUIRES: machines > 0.
absl::Status CheckMachines(std::uint64_t machines, std::uint64_t nics, const sim::Profile& profile);

// kInvalidArgument: as CheckMachines, all machines together have more than kMostCpus, or a message
// is longer than a NIC of this profile can write.
// kFailedPrecondition: a receive is shorter than its message, or its message never comes (the
// message names the receive and counts the operations left), or an operation ends after
// kMostSimulated. Otherwise the errors of the fabric, and of a write that failed.
absl::StatusOr<PlayResult> Play(const Schedule& schedule, const sim::Profile& profile,
                                const PlayOptions& options = {});

}  // namespace drydock::apps::goal

#endif  // DRYDOCK_APPS_GOAL_PLAYER_H_
