// All orders of a small program, each once, by running it again and again.
//
//   run 1: first choice everywhere ─► a tree of choice points
//   run 2: the same prefix, another last choice ─► ... ─► none is left
//
// Without reduction that is every sequence of steps: n! for n operations that are under way
// together. With it, two sequences that differ only in the order of independent steps
// (AreIndependent) are one, and only one of them is run: where a run shows that two dependent steps
// could have come in the other order, that order is noted as still to be run (dynamic partial-order
// reduction: Flanagan, Godefroid, POPL 2005), and a step that was tried at a choice point sleeps in
// later branches until a step that depends on it has happened (sleep sets: Godefroid, LNCS 1032,
// 1996). A run in which all that is possible sleeps is equivalent to an earlier one: it is
// redundant, which shows only on the way, and no order of its own.

#ifndef DRYDOCK_SIM_EXPLORE_STRATEGY_EXHAUSTIVE_H_
#define DRYDOCK_SIM_EXPLORE_STRATEGY_EXHAUSTIVE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drydock/sim/events/scheduler.h"

namespace drydock::sim::explore {

// Not thread-safe. Use: while (search.Next()) { run the program with search.NewScheduler(); }
class ExhaustiveSearch {
 public:
  struct Options {
    bool reduction = true;
    Grain grain = Grain::kOperations;
  };

  explicit ExhaustiveSearch(const Options& options) : options_(options) {}

  // Prepares another run; false: there is none. REQUIRES: the run before has ended.
  bool Next();
  // The scheduler of the run. The search outlives it.
  std::unique_ptr<Scheduler> NewScheduler();

  // Of the run that ended last:
  // An order that is equivalent to an earlier one.
  bool redundant() const { return redundant_; }
  // It left the path of the run before, though nothing else was different: the program is no
  // function of its schedule.
  bool diverged() const { return diverged_; }
  // The choices, as ParseStrategy takes them: "order:2.0.1".
  std::string order() const;

 private:
  class RunScheduler;

  // A state of the program in which steps are possible.
  struct Node {
    std::vector<Step> ready;
    std::size_t chosen = 0;
    std::vector<bool> wanted;  // index in `ready`: to be run, with reduction
    std::vector<bool> done;
    std::vector<bool> asleep;
  };

  std::size_t Pick(std::span<const Step> ready);
  std::size_t Extend(std::span<const Step> ready);
  void Ended(std::span<const Step> under_way);
  void WantReversals(std::span<const Step> under_way);
  void WantBefore(std::size_t i, std::size_t j, const Step& step,
                  const std::vector<std::vector<bool>>& before);

  const Options options_;
  std::vector<Node> path_;
  std::vector<std::size_t> choices_;  // of the run, where there was more than one step
  std::vector<Step> at_the_end_;      // of a redundant run: the possible steps where it became one
  std::size_t depth_ = 0;             // of the run
  bool started_ = false;
  bool redundant_ = false;
  bool diverged_ = false;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_STRATEGY_EXHAUSTIVE_H_
