#include "drydock/sim/explore/explorer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/explore/worker.h"

namespace drydock::sim::explore {
namespace {

// A worker's share: long enough that starting it costs nothing, short enough that the last ones end
// together.
constexpr std::uint64_t kMostSeeds = 256;

// The seeds that are still to be run, and the workers that run the others.
class Exploration {
 public:
  Exploration(const Scenario& scenario, const ExploreOptions& options)
      : scenario_(scenario),
        options_(options),
        length_(std::min(kMostSeeds, options.seeds / (options.jobs * 4) + 1)) {}

  absl::StatusOr<ExploreReport> Run() {
    while (HasShare() || !running_.empty()) {
      RETURN_IF_ERROR(StartWorkers());
      RETURN_IF_ERROR(WaitForWorkers());
      ServeWorkers();
      options_.progress(report_.seeds);
    }
    return std::move(report_);
  }

 private:
  // `crashed`: how the range's one seed ended when it was run before.
  struct Share {
    SeedRange range;
    std::optional<SeedResult> crashed;
  };
  struct Running {
    Share share;
    std::unique_ptr<Worker> worker;
  };

  bool IsTwice(std::uint64_t seed) const {
    return options_.twice_every != 0 && seed % options_.twice_every == 0;
  }

  bool HasShare() const { return !waiting_.empty() || shared_out_ < options_.seeds; }

  // REQUIRES: HasShare.
  Share TakeShare() {
    if (!waiting_.empty()) {
      Share share = std::move(waiting_.back());
      waiting_.pop_back();
      return share;
    }
    const std::uint64_t first = options_.first_seed + shared_out_;
    const std::uint64_t count = std::min(length_, options_.seeds - shared_out_);
    shared_out_ += count;
    return {{first, first + (count - 1)}, std::nullopt};
  }

  absl::Status StartWorkers() {
    while (running_.size() < options_.jobs && HasShare()) {
      Share share = TakeShare();
      const auto run = [this](std::uint64_t seed) {
        return RunChecked(scenario_, SpecOf(options_, seed), IsTwice(seed));
      };
      ASSIGN_OR_RETURN(auto worker, Worker::Start(share.range, run));
      running_.push_back({std::move(share), std::move(worker)});
    }
    return absl::OkStatus();
  }

  absl::Status WaitForWorkers() {
    std::vector<Worker*> workers;
    for (const Running& running : running_) workers.push_back(running.worker.get());
    return Worker::Await(workers, options_.patience);
  }

  void ServeWorkers() {
    for (std::size_t i = 0; i < running_.size();) {
      if (Serve(running_[i])) {
        ++i;
      } else {
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  // False: the worker is gone.
  bool Serve(Running& running) {
    Worker& worker = *running.worker;
    if (!worker.readable()) {
      if (worker.silent() < options_.patience) return true;
      worker.Kill();
      if (worker.Reap().empty()) {
        RunRest(worker, worker.untold() - 1);
      } else {
        GiveUp(worker, Verdict::kHang, "the program runs on without ever waiting");
      }
      return false;
    }
    const auto ended = [&](const SeedResult& result) { Ended(running.share, result); };
    if (worker.Read(ended)) return true;
    const std::string how = worker.Reap();
    if (!how.empty()) {
      Crashed(running, how);
    } else {
      RunRest(worker, worker.untold() - 1);
    }
    return false;
  }

  void Ended(const Share& share, const SeedResult& result) {
    Report(share.crashed.has_value() ? Nondeterministic(*share.crashed, result) : result);
  }

  void Report(const SeedResult& result) {
    report_.Add(result);
    options_.ended(result);
  }

  // A seed that crashes is run again, like every seed that fails.
  void Crashed(const Running& running, const std::string& how) {
    const Worker& worker = *running.worker;
    if (running.share.crashed.has_value()) {
      const SeedResult& before = *running.share.crashed;
      SeedResult now = before;
      now.text = how;
      Report(now.text == before.text ? now : Nondeterministic(before, now));
      return;
    }
    SeedResult result;
    result.seed = worker.seed();
    result.verdict = Verdict::kCrash;
    result.text = how;
    RunOthers(worker);
    waiting_.push_back({{result.seed, result.seed}, result});
  }

  void GiveUp(const Worker& worker, Verdict verdict, std::string text) {
    SeedResult result;
    result.seed = worker.seed();
    result.verdict = verdict;
    result.text = std::move(text);
    RunOthers(worker);
    Report(result);
  }

  // The seeds of a worker's range beside the one at which it ended: those behind it, and those
  // before it whose results went with the worker.
  void RunOthers(const Worker& worker) {
    RunRest(worker, worker.seed());
    if (worker.untold() < worker.seed()) {
      waiting_.push_back({{worker.untold(), worker.seed() - 1}, std::nullopt});
    }
  }

  // The seeds of a worker's range that come after this one.
  void RunRest(const Worker& worker, std::uint64_t seed) {
    if (seed < worker.range().last) {
      waiting_.push_back({{seed + 1, worker.range().last}, std::nullopt});
    }
  }

  const Scenario& scenario_;
  const ExploreOptions& options_;
  const std::uint64_t length_;    // of a share
  std::uint64_t shared_out_ = 0;  // of the seeds, for the first time
  std::vector<Share> waiting_;    // what workers have left, the last ones first
  std::vector<Running> running_;
  ExploreReport report_;
};

}  // namespace

void ExploreReport::Add(const SeedResult& result) {
  ++seeds;
  events += result.events;
  ++counts[static_cast<std::size_t>(result.verdict)];
  const auto [known, added] = first.try_emplace(result.verdict, result);
  if (!added && result.seed < known->second.seed) known->second = result;
  for (const RuleCount& rule : result.rules) {
    RuleTotal& total = rules[rule.name];
    ++total.seeds;
    total.fired_seeds += rule.fired > 0 ? 1 : 0;
    total.eligible += rule.eligible;
    total.fired += rule.fired;
    total.most_fired = std::max(total.most_fired, rule.fired);
  }
  coverage.Merge(result.coverage);
  if (!IsFailure(result.verdict)) return;
  failures.emplace(result.seed, result);
  if (failures.size() > kMostFailures) failures.erase(std::prev(failures.end()));
}

void ExploreReport::Merge(const ExploreReport& other) {
  seeds += other.seeds;
  events += other.events;
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  for (const auto& [verdict, result] : other.first) {
    const auto [known, added] = first.try_emplace(verdict, result);
    if (!added && result.seed < known->second.seed) known->second = result;
  }
  for (const auto& [name, total] : other.rules) {
    RuleTotal& sum = rules[name];
    sum.seeds += total.seeds;
    sum.fired_seeds += total.fired_seeds;
    sum.eligible += total.eligible;
    sum.fired += total.fired;
    sum.most_fired = std::max(sum.most_fired, total.most_fired);
  }
  coverage.Merge(other.coverage);
  failures.insert(other.failures.begin(), other.failures.end());
  while (failures.size() > kMostFailures) failures.erase(std::prev(failures.end()));
}

std::uint64_t ExploreReport::failed() const {
  std::uint64_t failed = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (IsFailure(static_cast<Verdict>(i))) failed += counts[i];
  }
  return failed;
}

RunSpec SpecOf(const ExploreOptions& options, std::uint64_t seed) {
  RunSpec spec;
  spec.seed = seed;
  spec.plan = options.plans.plan(seed);
  spec.parameters = options.parameters;
  spec.limit = options.limit;
  spec.heal_after = options.heal_after;
  spec.strategy = options.plans.strategy;
  spec.tight = options.plans.tight;
  if (options.plans.figures) spec.figures = options.plans.figures(seed);
  return spec;
}

absl::Status CheckOptions(const ExploreOptions& options) {
  if (options.seeds == 0) return absl::InvalidArgumentError("no seeds: there is nothing to run");
  if (options.jobs == 0 || options.jobs > 1024) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.jobs, " jobs: it takes from 1 to 1024 of them"));
  }
  if (options.seeds - 1 > UINT64_MAX - options.first_seed) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are no ", options.seeds, " seeds from ", options.first_seed, " on"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExploreReport> Explore(const Scenario& scenario, const ExploreOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  RETURN_IF_ERROR(CheckParameters(scenario.parameters(), options.parameters));
  return Exploration(scenario, options).Run();
}

absl::Status VerifyRules(const ExploreReport& report, const fabric::faults::FaultPlan& plan) {
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    const fabric::faults::FaultRule& rule = plan.rules[i];
    const auto found = report.rules.find(rule.name);
    const RuleTotal total = found == report.rules.end() ? RuleTotal() : found->second;
    const bool often_enough = total.most_fired >= rule.expect_fired.min;
    if (often_enough && total.most_fired <= rule.expect_fired.max.value_or(UINT64_MAX)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(fabric::faults::RuleLabel(i, rule.name), " fired ", total.most_fired,
                     " times at most in one of ", report.seeds, " seeds, expected ",
                     often_enough ? "at most " : "at least ",
                     often_enough ? *rule.expect_fired.max : rule.expect_fired.min));
  }
  return absl::OkStatus();
}

}  // namespace drydock::sim::explore
