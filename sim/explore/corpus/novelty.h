// What runs have shown so far, and which run was the first to show it.
//
// A run shows features: that it ended with a verdict, came by a point of its program once or often,
// ended operations in some way at some NIC. Counts beyond a few are one feature: a search that took
// every count for news would keep every run. A fault is none: that it fired says nothing about the
// program.

#ifndef DRYDOCK_SIM_EXPLORE_CORPUS_NOVELTY_H_
#define DRYDOCK_SIM_EXPLORE_CORPUS_NOVELTY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "drydock/sim/explore/dice.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::sim::explore {

// The features of a run, each once, sorted.
std::vector<std::string> FeaturesOf(const SeedResult& result);

// Not thread-safe.
class Novelty {
 public:
  // Takes in a run. True: it has shown something that no run before it had, and is kept: the next
  // number of those that Pick chooses from.
  bool Add(const SeedResult& result);

  // How many have been shown.
  std::size_t features() const { return features_.size(); }

  // The number of a kept run, from 0: the first that showed a feature which few runs have shown, and
  // for which it was not picked often before.
  // REQUIRES: there is one.
  std::size_t Pick(Dice& dice);

 private:
  struct Feature {
    std::size_t first = 0;    // the kept run that showed it first
    std::uint64_t runs = 0;   // that showed it
    std::uint64_t picks = 0;  // of `first`, for its sake
  };

  std::vector<Feature> features_;
  std::map<std::string, std::size_t, std::less<>> by_name_;  // index into features_
  std::size_t kept_ = 0;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_CORPUS_NOVELTY_H_
