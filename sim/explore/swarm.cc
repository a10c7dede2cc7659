#include "drydock/sim/explore/swarm.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "drydock/sim/explore/dice.h"

namespace drydock::sim::explore {
namespace {

using fabric::OperationKind;
using fabric::faults::Appliers;
using fabric::faults::Fault;
using fabric::faults::FaultInfo;
using fabric::faults::FaultPlan;
using fabric::faults::FaultRule;
using fabric::faults::Legality;
using fabric::faults::Parameter;
using fabric::faults::Point;

std::uint64_t SubjectOf(Family family) { return static_cast<std::uint64_t>(family); }
std::uint64_t SubjectOf(Fault fault) { return 1000 + static_cast<std::uint64_t>(fault); }

// Whether the fault ends an operation, or takes something away for good: the program may only
// report it, so that it must be rare for anything else to be seen.
bool IsHard(const FaultInfo& info) {
  switch (info.point) {
    case Point::kOutcome:
    case Point::kMachine:
    case Point::kInsertPeer:
      return true;
    default:
      return info.fault == Fault::kPostRefused || info.fault == Fault::kRegionCloses;
  }
}

void DrawDurations(const FaultInfo& info, FaultRule& rule, Dice& dice) {
  for (const Parameter which :
       {Parameter::kDelay, Parameter::kJitter, Parameter::kUp, Parameter::kDown}) {
    if (!Takes(info, which)) continue;
    const std::int64_t usual =
        which == Parameter::kJitter ? rule.parameters.delay.count() : Get(rule.parameters, which);
    const std::int64_t least = which == Parameter::kJitter ? 0 : usual / 4;
    Set(rule.parameters, which, dice.Between(least, std::max<std::int64_t>(usual * 2, least)));
  }
}

void DrawParameters(const FaultInfo& info, FaultRule& rule, Dice& dice) {
  struct Range {
    Parameter parameter;
    std::int64_t low, high;
  };
  constexpr Range kRanges[] = {
      {Parameter::kAttempts, 1, 32}, {Parameter::kAccept, 0, 4}, {Parameter::kEntries, 1, 8},
      {Parameter::kBehind, 1, 16},   {Parameter::kCopies, 1, 4}, {Parameter::kFactor, 2, 50},
      {Parameter::kStatus, 1, 15},
  };
  DrawDurations(info, rule, dice);
  for (const Range& range : kRanges) {
    if (!Takes(info, range.parameter)) continue;
    Set(rule.parameters, range.parameter, dice.Between(range.low, range.high));
  }
  if (Takes(info, Parameter::kBytes) && rule.parameters.bytes > 0) {
    rule.parameters.bytes = std::int64_t{8} << dice.Between(0, 9);
  }
  // Nothing can be injected, or a little.
  if (info.fault == Fault::kInjectLimit && dice.OneIn(2)) {
    rule.parameters.bytes = std::int64_t{8} << dice.Between(0, 2);
  }
  // All or nothing: a share is for the device alone.
  if (Takes(info, Parameter::kPlacedPercent)) {
    rule.parameters.placed_percent = dice.OneIn(2) ? 100 : 0;
  }
}

// Rare, and not often: a program sees one such failure, or a few.
void DrawHardSchedule(FaultRule& rule, Dice& dice) {
  if (dice.OneIn(2)) {
    rule.when.nth = static_cast<std::uint64_t>(1 + dice.Between(0, dice.OneIn(2) ? 15 : 127));
    if (dice.OneIn(4)) rule.when.sticky = true;
    return;
  }
  rule.when.probability = dice.Share(5, 10);
  if (dice.OneIn(4)) {
    rule.when.sticky = true;
  } else {
    rule.when.max = static_cast<std::uint64_t>(dice.Between(1, 3));
  }
}

void DrawSoftSchedule(FaultRule& rule, Dice& dice) {
  switch (dice.Between(0, 2)) {
    case 0:
      rule.when.every = static_cast<std::uint64_t>(dice.Between(2, 40));
      break;
    case 1:
      rule.when.probability = dice.Share(1, 7);
      break;
    default:
      rule.when.probability = dice.Share(4, 8);
      rule.when.burst = fabric::faults::Burst{};
      rule.when.burst->length = static_cast<std::uint64_t>(dice.Between(2, 32));
      rule.when.burst->gap = static_cast<std::uint64_t>(dice.Between(1, 100));
  }
}

// A read that looks empty makes its program look again, at all of its queues: were that to make
// more than one of them look empty, the program would do nothing else.
void DrawEmptyReads(FaultRule& rule, Dice& dice) {
  if (dice.OneIn(2)) {
    rule.when.every = static_cast<std::uint64_t>(dice.Between(32, 100));
  } else {
    rule.when.probability = dice.Share(5, 8);
  }
}

FaultRule DrawRule(const FaultInfo& info, Dice dice) {
  FaultRule rule = FaultRule::Of(info.fault);
  rule.expect_fired.min = 0;
  DrawParameters(info, rule, dice);
  const bool opens = FamilyOf(info.fault) == Family::kOpening;
  if (opens) {
    rule.when.nth = static_cast<std::uint64_t>(dice.Between(1, 12));
  } else if (FamilyOf(info.fault) == Family::kCapacities) {
    if (dice.OneIn(2)) rule.when.nth = static_cast<std::uint64_t>(dice.Between(1, 4));
  } else if (info.fault == Fault::kEmptyRead) {
    DrawEmptyReads(rule, dice);
  } else if (IsHard(info)) {
    DrawHardSchedule(rule, dice);
  } else {
    DrawSoftSchedule(rule, dice);
  }
  if (!info.operations.empty() && dice.OneIn(3)) {
    const auto kind = static_cast<OperationKind>(
        dice.Between(0, static_cast<std::int64_t>(OperationKind::kAtomic)));
    if (info.operations.Has(kind)) rule.when.operations = {kind};
  }
  if (!opens && dice.OneIn(6)) {
    rule.when.window = fabric::faults::Window{};
    rule.when.window->from = std::chrono::microseconds(dice.Between(0, 200));
    rule.when.window->to = rule.when.window->from + std::chrono::microseconds(dice.Between(5, 500));
  }
  return rule;
}

}  // namespace

std::string_view Name(Family family) {
  switch (family) {
    case Family::kPosts:
      return "posts";
    case Family::kOpening:
      return "opening";
    case Family::kCapacities:
      return "capacities";
    case Family::kStatus:
      return "status";
    case Family::kPlacement:
      return "placement";
    case Family::kCompletions:
      return "completions";
    case Family::kPeers:
      return "peers";
  }
  return "unknown";
}

std::optional<Family> FamilyOf(Fault fault) {
  const FaultInfo& info = Describe(fault);
  if (info.legality == Legality::kIllegal || fault == Fault::kImmediateFlood ||
      fault == Fault::kQueueOverrun || fault == Fault::kCompletionQueueDepth) {
    return std::nullopt;
  }
  switch (info.id.front()) {
    case 'P':
      if (info.point == Point::kCapacity) return Family::kCapacities;
      if (info.point == Point::kPost || info.point == Point::kBatch) return Family::kPosts;
      return Family::kOpening;
    case 'C':
      return Family::kStatus;
    case 'D':
      return Family::kPlacement;
    case 'Q':
      return Family::kCompletions;
    default:
      return Family::kPeers;
  }
}

FaultPlan SwarmPlan(std::uint64_t seed, const Appliers& appliers) {
  FaultPlan plan;
  plan.about = "swarm of seed " + std::to_string(seed);
  plan.mode = Legality::kAdversarial;
  const fabric::faults::FaultSet applied = appliers.device | appliers.decorator;
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    std::vector<const FaultInfo*> members;
    for (const FaultInfo& info : fabric::faults::Catalogue()) {
      if (applied[static_cast<std::size_t>(info.fault)] && FamilyOf(info.fault) == family) {
        members.push_back(&info);
      }
    }
    Dice dice(seed, SubjectOf(family));
    if (members.empty() || dice.OneIn(2)) continue;
    // One to three of them, so that the effects of each can be told apart.
    for (std::int64_t left = dice.Between(1, 3); left > 0 && !members.empty(); --left) {
      const auto pick = members.begin() + static_cast<std::ptrdiff_t>(dice.IndexOf(members.size()));
      plan.rules.push_back(DrawRule(**pick, Dice(seed, SubjectOf((*pick)->fault))));
      members.erase(pick);
    }
  }
  return plan;
}

}  // namespace drydock::sim::explore
