// The budget of a planned run: its needs of each NIC and of the system, against their limits.
//
//   process ──► one endpoint, one completion queue, its regions ──► on each NIC that it uses

#ifndef DRYDOCK_APPS_DOCTOR_PLAN_H_
#define DRYDOCK_APPS_DOCTOR_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/doctor/finding.h"
#include "drydock/apps/doctor/machine.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::doctor {

struct Plan {
  std::uint64_t processes = 1;     // on this machine
  std::uint64_t nics = 0;          // that each process uses; 0: all
  std::uint64_t peers = 0;         // endpoints that each endpoint talks to
  std::uint64_t in_flight = 1;     // writes under way to each peer, and from each peer to here
  std::uint64_t memory_bytes = 0;  // that each process registers, on each NIC that it uses
  std::uint64_t regions = 1;       // that it consists of
};

// "64GiB", "512 MiB", "4096", "1.5TiB": units are binary, GB and G mean GiB. kInvalidArgument: no
// such size, or more than 2^62 bytes.
absl::StatusOr<std::uint64_t> ParseSize(absl::string_view text);

// kInvalidArgument: numbers that no machine has: more than 2^32 of anything, or none of what every
// run has.
absl::Status CheckPlanIsSane(const Plan& plan);

// REQUIRES: CheckPlanIsSane.
void CheckPlan(const Plan& plan, const sim::Profile& profile, const MachineFacts& machine,
               Findings& findings);

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_PLAN_H_
