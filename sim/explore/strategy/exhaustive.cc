#include "drydock/sim/explore/strategy/exhaustive.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace drydock::sim::explore {
namespace {

// The index of `step`, or the number of steps when it is not among them.
std::size_t IndexOf(std::span<const Step> steps, const Step& step) {
  return static_cast<std::size_t>(std::find(steps.begin(), steps.end(), step) - steps.begin());
}

}  // namespace

class ExhaustiveSearch::RunScheduler final : public Scheduler {
 public:
  explicit RunScheduler(ExhaustiveSearch& search) : search_(search) {}

  Grain grain() const override { return search_.options_.grain; }
  std::size_t Pick(std::span<const Step> ready, coro::Duration) override {
    return search_.Pick(ready);
  }
  void Ended(std::span<const Step> under_way) override { search_.Ended(under_way); }

 private:
  ExhaustiveSearch& search_;
};

std::unique_ptr<Scheduler> ExhaustiveSearch::NewScheduler() {
  depth_ = 0;
  choices_.clear();
  redundant_ = diverged_ = false;
  return std::make_unique<RunScheduler>(*this);
}

bool ExhaustiveSearch::Next() {
  if (!started_) return started_ = true;
  while (!path_.empty()) {
    Node& node = path_.back();
    node.done[node.chosen] = true;
    for (std::size_t i = 0; i < node.ready.size(); ++i) {
      if (!node.wanted[i] || node.done[i] || node.asleep[i]) continue;
      node.chosen = i;
      return true;
    }
    path_.pop_back();
  }
  return false;
}

std::string ExhaustiveSearch::order() const {
  std::vector<std::size_t> choices = choices_;
  while (!choices.empty() && choices.back() == 0) choices.pop_back();
  return absl::StrCat(options_.grain == Grain::kPackets ? "order:packets:" : "order:",
                      absl::StrJoin(choices, "."));
}

std::size_t ExhaustiveSearch::Pick(std::span<const Step> ready) {
  std::size_t choice = 0;
  if (!redundant_ && !diverged_) {
    if (depth_ == path_.size()) {
      choice = Extend(ready);
    } else {
      Node& node = path_[depth_];
      diverged_ = !std::equal(ready.begin(), ready.end(), node.ready.begin(), node.ready.end());
      // The bytes that steps use may lie elsewhere in this run.
      if (!diverged_) node.ready.assign(ready.begin(), ready.end());
      choice = diverged_ ? 0 : node.chosen;
      ++depth_;
    }
  }
  if (ready.size() > 1) choices_.push_back(choice);
  return choice;
}

// A state that no run has been in.
std::size_t ExhaustiveSearch::Extend(std::span<const Step> ready) {
  Node node;
  node.ready.assign(ready.begin(), ready.end());
  node.done.assign(ready.size(), false);
  node.asleep.assign(ready.size(), false);
  node.wanted.assign(ready.size(), !options_.reduction);
  if (options_.reduction && !path_.empty()) {
    const Node& parent = path_.back();
    const Step& last = parent.ready[parent.chosen];
    for (std::size_t i = 0; i < parent.ready.size(); ++i) {
      if (i == parent.chosen || !(parent.asleep[i] || parent.done[i])) continue;
      const std::size_t here = IndexOf(ready, parent.ready[i]);
      if (here < ready.size() && AreIndependent(parent.ready[i], last)) node.asleep[here] = true;
    }
  }
  const auto awake = std::find(node.asleep.begin(), node.asleep.end(), false);
  if (awake == node.asleep.end()) {
    redundant_ = true;
    at_the_end_ = std::move(node.ready);
    return 0;
  }
  node.chosen = static_cast<std::size_t>(awake - node.asleep.begin());
  node.wanted[node.chosen] = true;
  path_.push_back(std::move(node));
  ++depth_;
  return path_.back().chosen;
}

void ExhaustiveSearch::Ended(std::span<const Step> under_way) {
  // A program that ended earlier than the last time is another program, too.
  diverged_ = diverged_ || depth_ < path_.size();
  if (!options_.reduction || diverged_) return;
  WantReversals(redundant_ ? std::span<const Step>(at_the_end_) : under_way);
}

// Notes for each step, and for each that was still to come in the end, the orders in which it comes
// before a step that it depends on.
void ExhaustiveSearch::WantReversals(std::span<const Step> under_way) {
  const std::size_t length = path_.size();
  const auto step_at = [this](std::size_t i) -> const Step& {
    return path_[i].ready[path_[i].chosen];
  };
  // before[j][i]: i had to happen before j. Behind the path: the steps that were still to come.
  std::vector<std::vector<bool>> before;
  for (std::size_t j = 0; j < length + under_way.size(); ++j) {
    const Step& step = j < length ? step_at(j) : under_way[j - length];
    const std::size_t end = std::min(j, length);
    std::size_t appeared = 0;  // where it was possible for the first time
    while (appeared < end && IndexOf(path_[appeared].ready, step) == path_[appeared].ready.size()) {
      ++appeared;
    }
    std::vector<bool> known(length, false);
    const auto precede = [&](std::size_t i) {
      known[i] = true;
      for (std::size_t k = 0; k < i; ++k) known[k] = known[k] || before[i][k];
    };
    // The program, or the device, reacted to the step after which it appeared.
    if (appeared > 0) precede(appeared - 1);
    std::vector<std::size_t> races;
    for (std::size_t i = end; i-- > 0;) {
      if (known[i] || AreIndependent(step_at(i), step)) continue;
      races.push_back(i);
      precede(i);
    }
    before.push_back(std::move(known));
    for (const std::size_t i : races) WantBefore(i, end, step, before);
  }
}

// Where step i happened, `step`, which came later, is to be tried first; or, when it was not
// possible yet, something that leads to it.
void ExhaustiveSearch::WantBefore(std::size_t i, std::size_t j, const Step& step,
                                  const std::vector<std::vector<bool>>& before) {
  Node& node = path_[i];
  const std::size_t here = IndexOf(node.ready, step);
  if (here < node.ready.size()) {
    node.wanted[here] = true;
    return;
  }
  for (std::size_t k = i + 1; k < j; ++k) {
    const std::size_t leads = IndexOf(node.ready, path_[k].ready[path_[k].chosen]);
    if (leads == node.ready.size() || !before.back()[k]) continue;
    node.wanted[leads] = true;
    return;
  }
  node.wanted.assign(node.wanted.size(), true);
}

}  // namespace drydock::sim::explore
