// What the simulator knows about a kind of machine, as data: its NICs, their limits, and how long
// things take.
//
// Where a figure comes from is said beside it in profiles.cc. Where the behaviour of the hardware
// is not known, a profile takes the harsher side: see docs/architecture.md.

#ifndef SIM_PROFILE_H_
#define SIM_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coro/time.h"
#include "fabric/limits.h"
#include "sim/random.h"

namespace sim {

// One NIC of a machine.
struct NicProfile {
  std::string name;         // rdmap79s0: bus 79, slot 0, both decimal
  std::string pci_address;  // 0000:4f:00.0
  int numa_node = -1;
};

struct Profile {
  std::string name;         // what --profile takes
  std::string description;  // one line for a person
  std::string vendor_device_id;
  std::vector<NicProfile> nics;
  double link_gbps = 100;
  fabric::Limits limits;

  // --- The wire ---
  DelayModel one_way;             // from one NIC to another, without the time on the link
  std::size_t header_bytes = 64;  // on the link, beside a packet's payload
  std::uint32_t engine_window =
      16;  // work requests that a NIC serves at the same time, in random order
  coro::Duration unresponsive_timeout{};  // after which an operation on a silent peer fails

  // --- Receiver not ready ---
  std::uint32_t rnr_retries = 7;  // 0 to 6: that many; 7: for ever (efa-direct's default)
  coro::Duration rnr_delay{};     // before each retry

  // --- The host's CPU, charged to the caller ---
  coro::Duration post_cost{};      // per work request
  coro::Duration doorbell_cost{};  // per post call
  coro::Duration poll_cost{};      // per read of a completion queue, empty or not
};

// All profiles; the first is the default. Static storage.
std::span<const Profile> Profiles();

// kNotFound lists the names that exist.
absl::StatusOr<const Profile*> FindProfile(absl::string_view name);

}  // namespace sim

#endif  // SIM_PROFILE_H_
