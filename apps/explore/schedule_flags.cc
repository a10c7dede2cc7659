#include "drydock/apps/explore/schedule_flags.h"

#include <algorithm>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/explore/schedules.h"

ABSL_FLAG(std::string, strategy, "random",
          "How the next step of the network is chosen. random: by the seed's delays. walk: "
          "any step, with equal odds. pct:DEPTH: priorities, with DEPTH-1 changes. starve: a walk "
          "in which an endpoint is frozen for a while. exhaustive: all orders of one seed's "
          "operations (exhaustive:packets: of packets and answers). order:CHOICES: as printed.");
ABSL_FLAG(std::uint64_t, max_runs, 10000, "With exhaustive: how many runs at most.");
ABSL_FLAG(bool, no_reduction, false,
          "With exhaustive: also orders that differ only in independent steps.");

namespace drydock::apps {

absl::StatusOr<ScheduleChoice> ReadScheduleFlags(const sim::explore::Scenario& scenario,
                                                 const sim::explore::RunSpec& run) {
  ScheduleChoice choice;
  const std::string name = absl::GetFlag(FLAGS_strategy);
  if (name == "exhaustive" || name == "exhaustive:packets") {
    ExhaustiveChoice& exhaustive = choice.exhaustive.emplace();
    if (name != "exhaustive") exhaustive.grain = sim::Grain::kPackets;
    exhaustive.reduction = !absl::GetFlag(FLAGS_no_reduction);
    exhaustive.max_runs = absl::GetFlag(FLAGS_max_runs);
    if (exhaustive.max_runs > 0) return choice;
    return absl::InvalidArgumentError("--max-runs=0: there is nothing to run");
  }
  RETURN_IF_ERROR(RefuseFlags({"no-reduction", "max-runs"},
                              absl::StrCat("is for --strategy=exhaustive, not for ", name)));
  ASSIGN_OR_RETURN(choice.strategy, sim::explore::ParseStrategy(name));
  if (choice.strategy.wants_steps) {
    const std::size_t steps = std::max<std::size_t>(1, CountSteps(scenario, run));
    ASSIGN_OR_RETURN(choice.strategy, sim::explore::ParseStrategy(absl::StrCat(name, ":", steps)));
  }
  return choice;
}

}  // namespace drydock::apps
