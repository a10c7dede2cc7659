// For programs that simulate in one way and measure in another, and cannot take a session: decides
// where the flags want to run, and calls one of two functions.
//
//   return RunObserved<Report>(
//       "affinity", SimulatedUnlessNamed("p5"),
//       [&](const ChosenWorld& world) { return Simulate(world, policies); },
//       [&](const ChosenWorld& world) { return Measure(world, policies); });

#ifndef DRYDOCK_APPS_COMMON_SESSION_EITHER_WORLD_H_
#define DRYDOCK_APPS_COMMON_SESSION_EITHER_WORLD_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/backend_choice.h"
#include "drydock/apps/common/trace_flags.h"

namespace drydock::apps {

// The flags of the backend, where those that name none mean a simulated machine of `profile`.
BackendOptions SimulatedUnlessNamed(absl::string_view profile);

// What a run has around it.
struct ChosenWorld {
  const BackendOptions& backend;
  BackendChoice& choice;
  const TraceRun& trace;
};

namespace internal {
// Calls `run`, which returns its result's status, between the choice and the end of the trace.
absl::Status Observe(absl::string_view program, const BackendOptions& backend,
                     const std::function<absl::Status(const ChosenWorld&)>& run);
}  // namespace internal

// Returns the result of `simulated` or `real`, observed as --trace wants it. Errors: those of the
// choice, of the trace, of the run.
template <typename Result>
absl::StatusOr<Result> RunObserved(
    absl::string_view program, const BackendOptions& backend,
    const std::function<absl::StatusOr<Result>(const ChosenWorld&)>& simulated,
    const std::function<absl::StatusOr<Result>(const ChosenWorld&)>& real) {
  absl::StatusOr<Result> result = absl::InternalError("nothing ran");
  const absl::Status observed = internal::Observe(program, backend, [&](const ChosenWorld& world) {
    result = world.choice.Visit([&] { return simulated(world); }, [&] { return real(world); });
    return result.status();
  });
  if (!observed.ok()) return observed;
  return result;
}

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_SESSION_EITHER_WORLD_H_
