// A workload played through on the simulator, packet by packet and post by post. It measures in
// virtual time the figures that the predictor calculates.
//
//   world.AddNode("here")  NIC 0 ──► NIC 0  world.AddNode("there")      a lane for each NIC
//                          NIC 1 ──► NIC 1                              that is used, whose window
//                                                                       is kept full
//
// The same profile, the same workload and the same seed play the same run.

#ifndef DRYDOCK_SIM_MODEL_PLAYER_H_
#define DRYDOCK_SIM_MODEL_PLAYER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/sim/model/workload.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim::model {

// Than what was asked for, until its rate is steady.
inline constexpr std::uint64_t kMostLonger = 16;

struct PlayOptions {
  std::uint64_t seed = 1;
  // Of each NIC, beyond the two windows with which a run without an end begins.
  std::uint64_t requests_per_nic = 300;
  // A run without an end goes on, twice as long each time, until its second half is as fast as all
  // before it within this share, or it is kMostLonger times as long. Its rate is then that half's.
  // Two halves of a rate that still falls can be alike by chance: in a run of thirty or so.
  std::optional<double> steady;
  // A workload that would need more bytes of memory, or packets for requests_per_nic, is refused. A
  // `steady` run may take kMostLonger times those packets.
  std::uint64_t most_bytes = std::uint64_t{2} << 30;
  std::uint64_t most_packets = 1 << 20;
};

struct Played {
  double pages_per_s = 0;       // over the whole run, where the workload has an end
  coro::Duration first_page{};  // from the first post until every NIC has ended its first page
};

// kUnimplemented: the simulator does not play the workload; the message says why. Other errors:
// those of Check, and of opening NICs. Blocks until it is played. Thread-safe: each call has a
// world of its own.
absl::StatusOr<Played> Play(const Profile& profile, const Workload& workload,
                            const PlayOptions& options = {});

}  // namespace drydock::sim::model

#endif  // DRYDOCK_SIM_MODEL_PLAYER_H_
