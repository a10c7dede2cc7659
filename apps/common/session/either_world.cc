#include "drydock/apps/common/session/either_world.h"

#include "drydock/coro/status_macros.h"

namespace drydock::apps {

BackendOptions SimulatedUnlessNamed(absl::string_view profile) {
  BackendOptions options = BackendOptionsFromFlags();
  const bool simulated =
      options.fabric == "sim" || (options.fabric == "auto" && options.provider.empty());
  if (simulated && options.profile.empty()) options.profile = std::string(profile);
  return options;
}

namespace internal {

absl::Status Observe(absl::string_view program, const BackendOptions& backend,
                     const std::function<absl::Status(const ChosenWorld&)>& run) {
  ASSIGN_OR_RETURN(BackendChoice choice, ChooseBackend(backend));
  ASSIGN_OR_RETURN(const auto trace, TraceRun::FromFlags(program, choice.simulated, backend.seed));
  const absl::Status ran = run({backend, choice, *trace});
  choice.fabric.reset();  // the observed fabric is closed
  return trace->Finish(ran);
}

}  // namespace internal
}  // namespace drydock::apps
