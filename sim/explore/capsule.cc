#include "drydock/sim/explore/capsule.h"

#include <chrono>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/explore/capsule_json.h"
#include "drydock/sim/explore/plan_source.h"

namespace drydock::sim::explore {

Build Build::This() {
  Build build;
#if defined(__clang__)
  build.compiler = absl::StrCat("Clang ", __clang_major__, ".", __clang_minor__);
#else
  build.compiler = absl::StrCat("GCC ", __GNUC__, ".", __GNUC_MINOR__);
#endif
#if defined(__OPTIMIZE__)
  build.mode = "opt";
#else
  build.mode = "fastbuild";
#endif
  return build;
}

Capsule MakeCapsule(const Scenario& scenario, const RunSpec& spec, const TracedRun& run) {
  return MakeCapsule(SubjectOf(scenario), spec, run);
}

Capsule MakeCapsule(const Subject& subject, const RunSpec& spec, const TracedRun& run) {
  Capsule capsule;
  capsule.program = subject.program;
  if (!subject.program.has_value()) capsule.scenario = subject.name;
  capsule.profile = subject.profile;
  capsule.run = spec;
  capsule.build = Build::This();
  capsule.result = run.result;
  capsule.result.rules.clear();
  capsule.result.coverage = {};
  capsule.result.waits.clear();
  const RunTrace& trace = *run.trace;
  capsule.marks.assign(trace.marks.begin(),
                       trace.marks.begin() + static_cast<std::ptrdiff_t>(trace.mark_count));
  for (const LoggedEvent& event : trace.LastEvents()) {
    capsule.last_events.push_back(ToText(event));
  }
  if (!trace.has_all_firings()) return capsule;
  capsule.run.firings = trace.FiringIds();
  if (!FitsInFile(capsule)) capsule.run.firings = spec.firings;
  return capsule;
}

absl::Status CheckProgramCapsule(const Capsule& capsule) {
  if (!capsule.program.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the capsule is of scenario ", capsule.scenario, ": explore runs it"));
  }
  const RunSpec& run = capsule.run;
  if (run.limit % std::chrono::seconds(1) != coro::Duration::zero()) {
    return absl::InvalidArgumentError(
        absl::StrCat("limit_ns is ", run.limit.count(), ": of a program it is whole seconds"));
  }
  const bool plain = run.parameters.empty() && !run.heal_after.has_value() && !run.tight &&
                     run.strategy.schedule == nullptr && run.figures.empty();
  if (plain) return absl::OkStatus();
  return absl::InvalidArgumentError("the capsule is of a program, with keys that scenarios have");
}

absl::Status CheckCapsule(const Capsule& capsule, const Scenario& scenario) {
  if (capsule.program.has_value()) {
    return absl::InvalidArgumentError("the capsule is of a program: efa-run runs it");
  }
  if (capsule.scenario != scenario.name()) {
    return absl::InvalidArgumentError(absl::StrCat("the capsule is of scenario ", capsule.scenario,
                                                   ", not ", std::string(scenario.name())));
  }
  if (capsule.profile != scenario.profile()) {
    return absl::InvalidArgumentError(absl::StrCat("the capsule is of profile ", capsule.profile,
                                                   ", the scenario's is ",
                                                   std::string(scenario.profile())));
  }
  RETURN_IF_ERROR(CheckParameters(scenario.parameters(), capsule.run.parameters));
  return CheckPlan(capsule.run.plan);
}

}  // namespace drydock::sim::explore
