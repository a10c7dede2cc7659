#include "drydock/sim/explore/corpus/guided.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "drydock/coro/status_macros.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/corpus/folder.h"
#include "drydock/sim/explore/corpus/mutation.h"
#include "drydock/sim/explore/corpus/parents.h"
#include "drydock/sim/explore/replay.h"
#include "drydock/sim/explore/traced_run.h"

namespace drydock::sim::explore {
namespace {

using fabric::faults::FaultPlan;

// What its children are made from.
FaultPlan PlanOf(const RunSpec& spec, const TracedRun& run) {
  return run.trace->has_all_firings() ? Pin(spec.plan, run.trace->FiringIds()) : spec.plan;
}

class Search {
 public:
  Search(const Scenario& scenario, const ExploreOptions& options, const std::string& folder)
      : scenario_(scenario), options_(options), folder_(folder) {}

  absl::StatusOr<GuidedReport> Run() {
    RETURN_IF_ERROR(RunFolder());
    for (std::uint64_t done = 0; done < options_.seeds; done += kGuidedBlock) {
      RETURN_IF_ERROR(RunBlock(done));
    }
    corpus_.features = parents_.features();
    return GuidedReport{std::move(seeds_), std::move(corpus_)};
  }

 private:
  absl::Status RunFolder() {
    ASSIGN_OR_RETURN(const auto corpus, ReadCorpus(folder_, scenario_, options_.parameters));
    corpus_.found = corpus.size();
    for (const auto& [path, capsule] : corpus) {
      ASSIGN_OR_RETURN(const TracedRun run, RunIsolated(scenario_, capsule.run, options_.patience));
      if (IsFailure(run.result.verdict)) {
        corpus_.regressions.emplace(path, run.result);
      } else if (parents_.IsNew(run.result)) {
        parents_.Keep(PlanOf(capsule.run, run));
      }
    }
    return absl::OkStatus();
  }

  // The seeds from options_.first_seed + `done` on.
  absl::Status RunBlock(std::uint64_t done) {
    ExploreOptions block = options_;
    block.first_seed = options_.first_seed + done;
    block.seeds = std::min(kGuidedBlock, options_.seeds - done);
    std::vector<FaultPlan> plans;
    for (std::uint64_t i = 0; i < block.seeds; ++i) {
      const std::uint64_t seed = block.first_seed + i;
      plans.push_back(parents_.PlanOf(seed, options_.plans.plan(seed)));
    }
    const std::uint64_t first = block.first_seed;
    block.plans.plan = [&](std::uint64_t seed) { return plans[seed - first]; };
    block.progress = [&](std::uint64_t count) { options_.progress(done + count); };
    std::map<std::uint64_t, SeedResult> ended;  // in the order of seeds, whichever ended first
    block.ended = [&](const SeedResult& result) {
      options_.ended(result);
      ended.emplace(result.seed, result);
    };
    ASSIGN_OR_RETURN(const ExploreReport report, Explore(scenario_, block));
    for (const auto& [seed, result] : ended) {
      if (parents_.IsNew(result)) RETURN_IF_ERROR(Keep(SpecOf(block, seed), result));
    }
    seeds_.Merge(report);
    for (const auto& [seed, result] : report.failures) {
      if (seeds_.failures.contains(seed)) RETURN_IF_ERROR(Tell(SpecOf(block, seed), result));
    }
    return absl::OkStatus();
  }

  // `result` was new.
  absl::Status Keep(const RunSpec& spec, const SeedResult& result) {
    ASSIGN_OR_RETURN(const TracedRun run, RunIsolated(scenario_, spec, options_.patience));
    if (run.result != result) {  // options_.twice_every is there to find such programs
      parents_.Keep(spec.plan);
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(AddToCorpus(folder_, MakeCapsule(scenario_, spec, run)).status());
    parents_.Keep(PlanOf(spec, run));
    ++corpus_.kept;
    return absl::OkStatus();
  }

  // `result` was a failure.
  absl::Status Tell(const RunSpec& spec, const SeedResult& result) {
    ASSIGN_OR_RETURN(TracedRun run, RunIsolated(scenario_, spec, options_.patience));
    if (!IsSameVerdict(run.result, result)) run.result = result;  // what was seen is what counts
    ASSIGN_OR_RETURN(corpus_.failures[spec.seed],
                     AddToCorpus(folder_ + "/failures", MakeCapsule(scenario_, spec, run)));
    return absl::OkStatus();
  }

  const Scenario& scenario_;
  const ExploreOptions& options_;
  const std::string& folder_;
  Parents parents_;
  ExploreReport seeds_;
  CorpusReport corpus_;
};

}  // namespace

absl::StatusOr<GuidedReport> ExploreGuided(const Scenario& scenario, const ExploreOptions& options,
                                           const std::string& folder) {
  RETURN_IF_ERROR(CheckOptions(options));
  return Search(scenario, options, folder).Run();
}

}  // namespace drydock::sim::explore
