#include "drydock/sim/explore/traced_run.h"

#include <memory>
#include <utility>

#include "drydock/coro/status_macros.h"
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
  Worker* const workers[] = {worker.get()};
  for (;;) {
    RETURN_IF_ERROR(Worker::Await(workers, patience));
    if (worker->readable()) {
      if (!worker->Read([&](const SeedResult& result) { traced.result = result; })) break;
    } else if (worker->silent() >= patience) {
      worker->Kill();
      if (worker->Reap().empty()) return traced;
      traced.result.verdict = Verdict::kHang;
      traced.result.text = "the program runs on without ever waiting";
      return traced;
    }
  }
  const std::string how = worker->Reap();
  if (!how.empty()) {
    traced.result.verdict = Verdict::kCrash;
    traced.result.text = how;
  }
  return traced;
}

}  // namespace drydock::sim::explore
