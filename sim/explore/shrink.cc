#include "drydock/sim/explore/shrink.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/explore/ddmin.h"
#include "drydock/sim/explore/replay.h"
#include "drydock/sim/explore/story.h"

namespace drydock::sim::explore {
namespace {

using fabric::faults::FiringId;

RunSize SizeOf(const RunSpec& spec, const RunTrace& trace) {
  RunSize size;
  size.firings = trace.firing_count;
  size.operations = trace.operation_count;
  size.disturbed = spec.disturbed.has_value() ? spec.disturbed->size() : trace.operation_count;
  size.events = trace.event_count;
  return size;
}

template <typename T>
std::vector<T> Pick(const std::vector<T>& list, const std::vector<std::size_t>& part) {
  std::vector<T> picked;
  for (const std::size_t index : part) picked.push_back(list[index]);
  return picked;
}

class Shrinker {
 public:
  Shrinker(const Subject& subject, const Capsule& capsule, const ShrinkOptions& options)
      : subject_(subject), options_(options), wanted_(capsule.result), best_(capsule.run) {}

  absl::StatusOr<ShrinkReport> Run() {
    ASSIGN_OR_RETURN(run_, RunOne(best_));
    if (!IsSameVerdict(wanted_, run_.result)) {
      return absl::FailedPreconditionError(
          absl::StrCat("it was ", std::string(Name(wanted_.verdict)), ", and is ",
                       std::string(Name(run_.result.verdict)), " now: nothing to shrink"));
    }
    ShrinkReport report;
    report.before = SizeOf(best_, *run_.trace);
    ListFirings();
    // Each makes room for the others.
    for (bool smaller = true; smaller && !IsSpent();) {
      smaller = ShrinkParameters();
      smaller |= ShrinkFirings();
      smaller |= ShrinkDisturbed();
    }
    DropRules();
    RETURN_IF_ERROR(error_);
    ASSIGN_OR_RETURN(report.run, VerifyTwice());
    report.after = SizeOf(best_, *report.run.trace);
    report.capsule = MakeCapsule(subject_, best_, report.run);
    report.story = TellStory(subject_, best_, report.run);
    report.runs = runs_;
    return report;
  }

 private:
  bool IsSpent() const { return runs_ >= options_.most_runs || !error_.ok(); }

  absl::StatusOr<TracedRun> RunOne(const RunSpec& spec) {
    ++runs_;
    return subject_.run(spec);
  }

  // Whether it still fails in the same way: then it is the best one.
  bool Try(const RunSpec& spec) {
    if (IsSpent()) return false;
    absl::StatusOr<TracedRun> run = RunOne(spec);
    if (!run.ok()) {
      error_ = run.status();
      return false;
    }
    if (!IsSameVerdict(wanted_, run->result)) return false;
    best_ = spec;
    run_ = *std::move(run);
    const RunSize size = SizeOf(best_, *run_.trace);
    options_.progress(absl::StrCat(runs_, runs_ == 1 ? " run: " : " runs: ", size.firings,
                                   size.firings == 1 ? " firing, " : " firings, ", size.operations,
                                   size.operations == 1 ? " operation, " : " operations, ",
                                   size.disturbed, " of them not calm"));
    return true;
  }

  // Replaces the rules by the list of their firings.
  void ListFirings() {
    if (!run_.trace->has_all_firings()) return;
    RunSpec spec = best_;
    spec.firings = run_.trace->FiringIds();
    Try(spec);
  }

  // Leaves out of a list of the run what the failure does not need.
  template <typename List>
  void Reduce(const List& all, std::optional<List> RunSpec::*list) {
    Ddmin(
        all.size(),
        [&](const std::vector<std::size_t>& part) {
          RunSpec spec = best_;
          spec.*list = Pick(all, part);
          return Try(spec);
        },
        [this] { return IsSpent(); });
  }

  bool ShrinkFirings() {
    if (!best_.firings.has_value()) return false;
    const std::vector<FiringId> all = *best_.firings;
    Reduce(all, &RunSpec::firings);
    return best_.firings->size() < all.size();
  }

  bool ShrinkDisturbed() {
    const bool was_all = !best_.disturbed.has_value();
    std::vector<std::uint64_t> all;
    if (was_all) {
      // Those beyond are calm in every attempt.
      constexpr std::uint64_t kMostListed = 1 << 20;
      all.resize(std::min(run_.trace->operation_count, kMostListed));
      std::iota(all.begin(), all.end(), std::uint64_t{0});
    } else {
      all = *best_.disturbed;
    }
    Reduce(all, &RunSpec::disturbed);
    return best_.disturbed.has_value() && (was_all || best_.disturbed->size() < all.size());
  }

  bool ShrinkParameters() {
    bool smaller = false;
    for (const Parameter& parameter : subject_.parameters) {
      smaller |= ShrinkParameter(parameter);
    }
    return smaller;
  }

  std::uint64_t ValueOf(const Parameter& parameter) const {
    return AllParameters(subject_.parameters, best_.parameters).at(std::string(parameter.name));
  }

  bool ShrinkParameter(const Parameter& parameter) {
    const std::uint64_t before = ValueOf(parameter);
    if (before <= parameter.least || TryParameter(parameter, parameter.least)) {
      return before > parameter.least;
    }
    std::uint64_t failing = before;           // the smallest value known to do
    std::uint64_t passing = parameter.least;  // the largest below it known not to do
    while (failing - passing > 1 && !IsSpent()) {
      const std::uint64_t middle = passing + (failing - passing) / 2;
      (TryParameter(parameter, middle) ? failing : passing) = middle;
    }
    return failing < before;
  }

  // The operations have other numbers then: as a last resort all of them are disturbed again.
  bool TryParameter(const Parameter& parameter, std::uint64_t value) {
    RunSpec spec = best_;
    spec.parameters[std::string(parameter.name)] = value;
    if (Try(spec)) return true;
    if (!spec.disturbed.has_value()) return false;
    spec.disturbed.reset();
    return Try(spec);
  }

  // The rules that do not act any more.
  void DropRules() {
    if (!best_.firings.has_value()) return;
    RunSpec spec = best_;
    spec.plan.rules.clear();
    std::vector<std::uint32_t> moved(best_.plan.rules.size());
    for (std::uint32_t i = 0; i < moved.size(); ++i) {
      moved[i] = static_cast<std::uint32_t>(spec.plan.rules.size());
      const bool acts = std::any_of(best_.firings->begin(), best_.firings->end(),
                                    [&](const FiringId& id) { return id.rule == i; });
      if (acts) spec.plan.rules.push_back(best_.plan.rules[i]);
    }
    for (FiringId& id : *spec.firings) id.rule = moved[id.rule];
    Try(spec);
  }

  absl::StatusOr<TracedRun> VerifyTwice() {
    ASSIGN_OR_RETURN(TracedRun first, RunOne(best_));
    ASSIGN_OR_RETURN(const TracedRun second, RunOne(best_));
    if (IsSameVerdict(wanted_, first.result) && IsSameVerdict(wanted_, second.result) &&
        first.result.digest == second.result.digest) {
      return first;
    }
    return absl::FailedPreconditionError("two runs of the smallest failure differ");
  }

  const Subject& subject_;
  const ShrinkOptions& options_;
  const SeedResult wanted_;
  RunSpec best_;
  TracedRun run_;  // of best_
  std::uint64_t runs_ = 0;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<ShrinkReport> Shrink(const Subject& subject, const Capsule& capsule,
                                    const ShrinkOptions& options) {
  const Verdict verdict = capsule.result.verdict;
  if (!IsFailure(verdict) || verdict == Verdict::kNondeterministic) {
    return absl::FailedPreconditionError(
        absl::StrCat("its verdict is ", std::string(Name(verdict)), ": nothing to shrink"));
  }
  return Shrinker(subject, capsule, options).Run();
}

absl::StatusOr<ShrinkReport> Shrink(const Scenario& scenario, const Capsule& capsule,
                                    const ShrinkOptions& options) {
  RETURN_IF_ERROR(CheckCapsule(capsule, scenario));
  Subject subject = SubjectOf(scenario);
  const Verdict verdict = capsule.result.verdict;
  if (options.isolate || verdict == Verdict::kCrash || verdict == Verdict::kHang) {
    subject.run = [&](const RunSpec& spec) {
      return RunIsolated(scenario, spec, options.patience);
    };
  }
  return Shrink(subject, capsule, options);
}

}  // namespace drydock::sim::explore
