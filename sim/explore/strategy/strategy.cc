#include "drydock/sim/explore/strategy/strategy.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "drydock/sim/explore/strategy/order.h"
#include "drydock/sim/explore/strategy/pct.h"
#include "drydock/sim/explore/strategy/starve.h"
#include "drydock/sim/explore/strategy/walk.h"

namespace drydock::sim::explore {
namespace {

constexpr std::size_t kDeepest = 10;
constexpr std::size_t kMostSteps = 1000000;

absl::Status Wrong(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("strategy '", text, "': ", why));
}

absl::StatusOr<Strategy> ParsePct(absl::string_view text, absl::string_view parameters) {
  const std::vector<std::string> parts = absl::StrSplit(parameters, ':');
  std::size_t depth = 0;
  std::size_t steps = kUsualSteps;
  if (parts.size() > 2 || !absl::SimpleAtoi(parts[0], &depth) || depth < 1 || depth > kDeepest) {
    return Wrong(text, absl::StrCat("it is pct:DEPTH or pct:DEPTH:STEPS, with a depth from 1 to ",
                                    kDeepest));
  }
  const bool given = parts.size() == 2;
  if (given && (!absl::SimpleAtoi(parts[1], &steps) || steps < 1 || steps > kMostSteps)) {
    return Wrong(text, absl::StrCat("the number of steps is from 1 to ", kMostSteps));
  }
  Strategy strategy;
  strategy.name = absl::StrCat("pct:", depth, ":", steps);
  strategy.wants_steps = !given;
  strategy.schedule = [depth, steps](std::uint64_t seed) {
    return std::make_unique<PctScheduler>(seed, depth, steps);
  };
  return strategy;
}

absl::StatusOr<Strategy> ParseOrder(absl::string_view text, absl::string_view choices) {
  std::vector<std::size_t> order;
  const Grain grain =
      absl::ConsumePrefix(&choices, "packets:") ? Grain::kPackets : Grain::kOperations;
  for (const absl::string_view part : absl::StrSplit(choices, '.', absl::SkipEmpty())) {
    if (!absl::SimpleAtoi(part, &order.emplace_back())) {
      return Wrong(text, "it is order: and the numbers of what was chosen, with points between");
    }
  }
  Strategy strategy;
  strategy.name = std::string(text);
  strategy.schedule = [order, grain](std::uint64_t) {
    return std::make_unique<OrderScheduler>(order, grain);
  };
  return strategy;
}

}  // namespace

absl::StatusOr<Strategy> ParseStrategy(absl::string_view text) {
  absl::string_view rest = text;
  if (text == "random") return Strategy();
  if (absl::ConsumePrefix(&rest, "pct:")) return ParsePct(text, rest);
  if (absl::ConsumePrefix(&rest, "order:")) return ParseOrder(text, rest);
  Strategy strategy;
  strategy.name = std::string(text);
  if (text == "walk") {
    strategy.schedule = [](std::uint64_t seed) { return std::make_unique<WalkScheduler>(seed); };
  } else if (text == "starve") {
    strategy.schedule = [](std::uint64_t seed) { return std::make_unique<StarveScheduler>(seed); };
  } else {
    return Wrong(text, "there are random, walk, pct:DEPTH, starve, exhaustive and order:CHOICES");
  }
  return strategy;
}

}  // namespace drydock::sim::explore
