#include "drydock/sim/explore/corpus/mutation.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace drydock::sim::explore {
namespace {

using fabric::faults::Describe;
using fabric::faults::FaultPlan;
using fabric::faults::FaultRule;
using fabric::faults::FiringId;
using fabric::faults::Selector;

// No run comes as far; a capsule may say any number.
constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 40;

// The rule, on the event of this number alone: its filters stay, which say what is counted.
FaultRule At(FaultRule rule, std::uint64_t number) {
  Selector& when = rule.when;
  when.skip = 0;
  when.every.reset();
  when.probability.reset();
  when.max.reset();
  when.burst.reset();
  when.sticky = false;
  when.nth = std::min(number, kMostNumber);
  rule.expect_fired = {.min = 0};
  return rule;
}

// A rule's draws depend on its name, and so do the counts that a report has of it: it is its
// fault's, with a number where there are several.
void NameRules(FaultPlan& plan) {
  std::set<std::string> names;
  for (FaultRule& rule : plan.rules) {
    const std::string name(Describe(rule.fault).name);
    rule.name = name;
    for (int i = 2; !names.insert(rule.name).second; ++i) rule.name = absl::StrCat(name, "-", i);
  }
}

// Often near to where it was, now and then anywhere.
std::uint64_t Moved(std::uint64_t number, Dice& dice) {
  if (dice.OneIn(4)) return static_cast<std::uint64_t>(dice.Between(1, dice.OneIn(2) ? 16 : 128));
  const auto now = static_cast<std::int64_t>(std::min(number, kMostNumber));
  const std::int64_t moved = now + dice.Between(-3, 3);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, moved));
}

// Whether the plan has the fault as often as the rule would. The swarm's rates are those of one rule
// for each fault: with several, a correct program may do nothing but look at queues that seem empty.
bool IsTwice(const FaultPlan& plan, const FaultRule& rule) {
  return !rule.when.nth.has_value() &&
         std::any_of(plan.rules.begin(), plan.rules.end(), [&](const FaultRule& other) {
           return other.fault == rule.fault && !other.when.nth.has_value();
         });
}

// REQUIRES: it has a rule.
void DropOne(FaultPlan& plan, Dice& dice) {
  plan.rules.erase(plan.rules.begin() +
                   static_cast<std::ptrdiff_t>(dice.IndexOf(plan.rules.size())));
}

void MutateOnce(FaultPlan& plan, const FaultPlan& other, Dice& dice) {
  const std::int64_t what = dice.Between(1, 6);
  if (plan.rules.empty() || what <= 2) {
    for (const FaultRule& rule : other.rules) {
      if (dice.OneIn(3) && !IsTwice(plan, rule)) plan.rules.push_back(rule);
    }
    return;
  }
  FaultRule& rule = plan.rules[dice.IndexOf(plan.rules.size())];
  if (what == 3) {
    DropOne(plan, dice);
  } else if (!rule.when.nth.has_value()) {
    rule = At(rule, Moved(1, dice));
  } else if (what == 4) {
    rule.when.nth = Moved(*rule.when.nth, dice);
  } else {
    const auto later = static_cast<std::uint64_t>(dice.Between(1, dice.OneIn(2) ? 3 : 16));
    plan.rules.push_back(At(rule, std::min(*rule.when.nth, kMostNumber) + later));
  }
}

}  // namespace

FaultPlan Pin(const FaultPlan& plan, const std::vector<FiringId>& firings) {
  FaultPlan pinned = plan;
  pinned.rules.clear();
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    std::vector<std::uint64_t> numbers;
    for (const FiringId& firing : firings) {
      if (firing.rule == i) numbers.push_back(firing.number);
    }
    if (numbers.size() > kMostPinned) {
      pinned.rules.push_back(plan.rules[i]);
      continue;
    }
    for (const std::uint64_t number : numbers) pinned.rules.push_back(At(plan.rules[i], number));
  }
  NameRules(pinned);
  return pinned;
}

FaultPlan Mutate(const FaultPlan& plan, const FaultPlan& other, Dice& dice) {
  FaultPlan mutated = plan;
  mutated.mode = std::max(plan.mode, other.mode);
  for (std::int64_t left = dice.Between(1, 8); left > 0; --left) MutateOnce(mutated, other, dice);
  while (mutated.rules.size() > kMostRules) DropOne(mutated, dice);
  NameRules(mutated);
  return mutated;
}

}  // namespace drydock::sim::explore
