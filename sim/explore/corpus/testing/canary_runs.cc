// How many runs the canaries take: by plain seeds of the swarm, and by plans mutated from those of
// runs that showed something new. It prints a table; docs/sweeps.md has one.
//
//   bazel run --config=opt //sim/explore/corpus/testing:canary_runs

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "drydock/sim/explore/corpus/guided.h"
#include "drydock/sim/explore/corpus/mutation.h"
#include "drydock/sim/explore/corpus/parents.h"
#include "drydock/sim/explore/corpus/testing/canaries.h"
#include "drydock/sim/explore/plan_source.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/traced_run.h"

namespace drydock::sim::explore {
namespace {

constexpr std::uint64_t kMostRuns = 100'000;
constexpr std::array<std::uint64_t, 9> kFirstSeeds = {
    1, 1'000'000, 2'000'000, 3'000'000, 4'000'000, 5'000'000, 6'000'000, 7'000'000, 8'000'000};

std::uint64_t PlainRuns(const Scenario& scenario, std::uint64_t first) {
  const PlanSource swarm = Swarm();
  for (std::uint64_t runs = 1; runs <= kMostRuns; ++runs) {
    if (IsFailure(RunSeed(scenario, first + runs - 1, swarm).verdict)) return runs;
  }
  return kMostRuns;
}

// As ExploreGuided does it, block by block. Counts the runs that look up a parent's firings, too.
std::uint64_t GuidedRuns(const Scenario& scenario, std::uint64_t first) {
  const PlanSource swarm = Swarm();
  Parents parents;
  std::uint64_t runs = 0;
  for (std::uint64_t seed = first; runs < kMostRuns; seed += kGuidedBlock) {
    std::vector<RunSpec> block;
    for (std::uint64_t i = 0; i < kGuidedBlock; ++i) {
      block.push_back(SpecOf(seed + i, swarm));
      block.back().plan = parents.PlanOf(seed + i, block.back().plan);
    }
    for (const RunSpec& spec : block) {
      ++runs;
      const SeedResult result = RunOnce(scenario, spec);
      if (IsFailure(result.verdict)) return runs;
      if (!parents.IsNew(result)) continue;
      ++runs;
      parents.Keep(Pin(spec.plan, RunTraced(scenario, spec).trace->FiringIds()));
    }
  }
  return kMostRuns;
}

using Runs = std::array<std::uint64_t, kFirstSeeds.size()>;

Runs Sorted(const std::function<std::uint64_t(std::uint64_t first)>& count) {
  Runs runs{};
  std::transform(kFirstSeeds.begin(), kFirstSeeds.end(), runs.begin(), count);
  std::sort(runs.begin(), runs.end());
  return runs;
}

std::string Text(const Runs& runs) {
  return std::to_string(runs[runs.size() / 2]) + " (" + std::to_string(runs.front()) + " to " +
         std::to_string(runs.back()) + ")";
}

int Main() {
  std::printf("runs until the bug is found: median of %zu first seeds (least to most)\n",
              kFirstSeeds.size());
  std::printf("%-14s %-26s %-26s %s\n", "canary", "plain seeds", "guided", "plain / guided");
  for (const Bug bug : kBugs) {
    const Uploader canary(bug);
    const Runs plain = Sorted([&](std::uint64_t first) { return PlainRuns(canary, first); });
    const Runs guided = Sorted([&](std::uint64_t first) { return GuidedRuns(canary, first); });
    std::printf("%-14s %-26s %-26s %.1f\n", std::string(Name(bug)).c_str(), Text(plain).c_str(),
                Text(guided).c_str(),
                static_cast<double>(plain[plain.size() / 2]) /
                    static_cast<double>(guided[guided.size() / 2]));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace drydock::sim::explore

int main() { return drydock::sim::explore::Main(); }
