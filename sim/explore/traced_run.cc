#include "drydock/sim/explore/traced_run.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/sim/explore/subject.h"
#include "drydock/sim/explore/worker.h"

namespace drydock::sim::explore {
namespace {

class TracingObserver final : public RunObserver {
 public:
  explicit TracingObserver(RunTrace& trace) : tracer_(trace) {}
  void Begin(World& world, fabric::faults::FaultEngine& engine) override {
    tracer_.Begin(world, &engine);
  }
  void End(World&, fabric::faults::FaultEngine&) override { tracer_.End(); }

 private:
  Tracer tracer_;
};

// False: nothing came within `patience`.
absl::StatusOr<bool> IsHeard(const Worker& worker, coro::Duration patience) {
  coro::SteadyClock clock;
  const coro::Time due = coro::After(clock.Now(), patience);
  for (;;) {
    pollfd descriptor{worker.descriptor(), POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - clock.Now());
    const auto wait = std::clamp<std::int64_t>(left.count() + 1, 0, 1000);
    const int ready = poll(&descriptor, 1, static_cast<int>(wait));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) {
      return absl::InternalError(absl::StrCat("wait for a run: ", std::strerror(errno)));
    }
    if (clock.Now() >= due) return false;
  }
}

}  // namespace

Subject SubjectOf(const Scenario& scenario) {
  return {.name = std::string(scenario.name()),
          .profile = std::string(scenario.profile()),
          .parameters = scenario.parameters(),
          .program = std::nullopt,
          .run = [&scenario](const RunSpec& spec) { return RunTraced(scenario, spec); }};
}

TracedRun RunTraced(const Scenario& scenario, const RunSpec& spec) {
  const std::shared_ptr<RunTrace> trace = NewTrace();
  TracingObserver tracer(*trace);
  SeedResult result = RunOnce(scenario, spec, &tracer);
  return {std::move(result), trace};
}

absl::StatusOr<TracedRun> RunIsolated(const Scenario& scenario, const RunSpec& spec,
                                      coro::Duration patience) {
  const std::shared_ptr<RunTrace> trace = NewTrace();
  const auto run = [&](std::uint64_t) {
    TracingObserver tracer(*trace);
    return RunOnce(scenario, spec, &tracer);
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<Worker> worker,
                   Worker::Start({spec.seed, spec.seed}, run));
  TracedRun traced{{}, trace};
  traced.result.seed = spec.seed;
  for (;;) {
    ASSIGN_OR_RETURN(const bool heard, IsHeard(*worker, patience));
    if (!heard) {
      worker->Kill();
      worker->Reap();
      traced.result.verdict = Verdict::kHang;
      traced.result.text = "the program runs on without ever waiting";
      return traced;
    }
    if (!worker->Read([&](const SeedResult& result) { traced.result = result; })) break;
  }
  const std::string how = worker->Reap();
  if (!how.empty()) {
    traced.result.verdict = Verdict::kCrash;
    traced.result.text = how;
  }
  return traced;
}

}  // namespace drydock::sim::explore
