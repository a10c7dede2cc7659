// Many seeds, most of which have a fault plan made from that of an earlier run that showed something
// new: so a bug behind several failures, one after the other, is reached step by step.
//
//   folder ──► its runs, once more ──► parents ◄──────────────────┐ those that showed something new,
//                                        │                        │ which go into the folder, too
//                  swarm of the seed ──► mutated plans ──► seeds ─┘
//
// The idea is that of fuzzing by coverage (AFL, libFuzzer), with a fault plan as the input.

#ifndef DRYDOCK_SIM_EXPLORE_CORPUS_GUIDED_H_
#define DRYDOCK_SIM_EXPLORE_CORPUS_GUIDED_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::sim::explore {

// Seeds whose plans know the same parents: few, so that a step is soon followed by the next one;
// enough for some workers.
inline constexpr std::uint64_t kGuidedBlock = 128;

// What a search came to beside its seeds.
struct CorpusReport {
  std::uint64_t found = 0;                        // runs that were in the folder
  std::map<std::string, SeedResult> regressions;  // those of them that fail now, by path
  std::uint64_t kept = 0;                         // runs that went into the folder
  std::uint64_t features = 0;                     // that have been shown, by all runs
  // Capsules of the failures that the report of the seeds tells: a seed alone is not the run.
  std::map<std::uint64_t, std::string> failures;
};

struct GuidedReport {
  ExploreReport seeds;  // without the folder's runs
  CorpusReport corpus;
};

// Runs `options.seeds` seeds. Only runs without a failure are kept and mutated; a capsule of each of
// the first failures is in `folder`/failures as soon as its block has ended. Nothing of the report
// depends on the number of jobs or on time; it depends on what is in the folder. `folder`: made
// where it does not exist. Errors: those of Explore, ReadCorpus and AddToCorpus.
// REQUIRES: as Explore; options.plans is the swarm.
absl::StatusOr<GuidedReport> ExploreGuided(const Scenario& scenario, const ExploreOptions& options,
                                           const std::string& folder);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_CORPUS_GUIDED_H_
