#include "drydock/apps/batch/steps.h"

#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/model/predictor.h"
#include "drydock/sim/model/published.h"

namespace drydock::apps::batch {
namespace {

Load LoadOf(const sim::model::Workload& workload, std::uint64_t pages) {
  Load load;
  load.gpus = workload.gpus;
  load.nics_per_gpu = workload.nics / workload.gpus;
  load.page_bytes = workload.page_bytes;
  load.pages = pages;
  load.window = workload.window;
  load.burst = workload.burst;
  load.threads = workload.threads;
  load.pin = workload.pinned;
  load.sharded = workload.sharded;
  load.lazy = workload.lazy;
  load.warm_up = workload.warm;
  return load;
}

// Pages for each NIC: enough that the middle of the run has the steady rate.
std::uint64_t PagesFor(const sim::model::Prediction& predicted) {
  constexpr std::uint64_t kFewTurns = 1000;
  constexpr std::uint64_t kManyTurns = 32'000;
  return predicted.limiter == sim::model::Limiter::kWire ? kManyTurns : kFewTurns;
}

double Seconds(coro::Duration duration) { return std::chrono::duration<double>(duration).count(); }

// The rate in Gbit/s of `pages` pages at the steady rate, after `contact` seconds of connecting.
double Extended(const Load& load, double steady_gbps, double contact, std::uint64_t pages) {
  const double gigabits = static_cast<double>(pages * load.page_bytes) * 8e-9;
  return gigabits / (contact + gigabits / steady_gbps);
}

absl::StatusOr<double> SimulateStep(const SimulatedRun& run, const Load& load,
                                    std::uint64_t published_pages) {
  Load warm = load;
  warm.warm_up = true;
  ASSIGN_OR_RETURN(const BatchResult steady, RunSimulated(run, warm));
  if (!steady.correct) return absl::DataLossError("the data of a step is wrong");
  double contact = 0;
  if (!load.warm_up) {
    ASSIGN_OR_RETURN(const BatchResult cold, RunSimulated(run, load));
    contact = Seconds(cold.took - steady.took);
  }
  const double rate = SteadyGbps(warm, steady).value_or(Gbps(load.total_bytes(), steady.took));
  return Extended(load, rate, contact, published_pages);
}

}  // namespace

absl::StatusOr<std::vector<Step>> RunSteps(const SimulatedRun& run, std::uint64_t pages) {
  std::vector<Step> steps;
  for (const sim::model::PublishedFigure& figure : sim::model::Staircase()) {
    if (run.profile->name != figure.profile) continue;
    Step step;
    step.name = figure.name;
    step.source = figure.source;
    step.published_gbps = figure.gbps;
    ASSIGN_OR_RETURN(const sim::model::Prediction predicted,
                     sim::model::Predict(*run.profile, figure.workload));
    step.load = LoadOf(figure.workload, pages == 0 ? PagesFor(predicted) : pages);
    step.line_gbps = run.profile->link_gbps * static_cast<double>(step.load.nics());
    step.predicted_gbps = predicted.overall_gbps;
    ASSIGN_OR_RETURN(step.gbps, SimulateStep(run, step.load, figure.workload.operations));
    steps.push_back(std::move(step));
  }
  if (steps.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--steps: no steps were published for a ",
                                                   run.profile->name, ", only for a ",
                                                   sim::model::Staircase().front().profile));
  }
  return steps;
}

}  // namespace drydock::apps::batch
