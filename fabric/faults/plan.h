// A fault plan: which faults happen, to which operations and when, as data. The same in C++ and in
// JSON (plan_json.h).
//
//   FaultPlan plan{.mode = Legality::kAdversarial};
//   FaultRule storm = FaultRule::Of(Fault::kAgainThenAccepted, "storm");
//   storm.when.operations = {OperationKind::kWrite};
//   storm.when.probability = 0.01;
//   plan.rules.push_back(storm);

#ifndef DRYDOCK_FABRIC_FAULTS_PLAN_H_
#define DRYDOCK_FABRIC_FAULTS_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/faults/event.h"
#include "drydock/fabric/faults/fault.h"
#include "drydock/fabric/faults/parameters.h"

namespace drydock::fabric::faults {

// Both ends included.
struct SizeRange {
  std::uint64_t min = 0;
  std::uint64_t max = UINT64_MAX;
  friend bool operator==(const SizeRange&, const SizeRange&) = default;
};

// Time since the run began; the end is not included.
struct Window {
  coro::Duration from{};
  coro::Duration to = coro::Duration::max();
  friend bool operator==(const Window&, const Window&) = default;
};

// A firing goes on for `length` eligible events in all, and is then followed by `gap` that are left
// alone.
struct Burst {
  std::uint64_t length = 1;
  std::uint64_t gap = 0;
  friend bool operator==(const Burst&, const Burst&) = default;
};

struct ImmediateMatch {
  std::uint32_t mask = UINT32_MAX;
  std::uint32_t value = 0;
  friend bool operator==(const ImmediateMatch&, const ImmediateMatch&) = default;
};

// Which events a rule fires on. Two steps. An event is *eligible* when it matches every filter;
// an empty list matches everything, and an event that lacks what a filter asks for does not match.
// Of the eligible events, which the rule counts from 1, it fires on those that the schedule picks:
// all of them where nothing is said.
struct Selector {
  // Filters.
  std::optional<Window> window;
  std::vector<std::uint32_t> peers;
  std::vector<std::string> nics;
  std::vector<std::uint32_t> queues;
  std::vector<std::uint64_t> keys;
  OperationSet operations;  // empty: all that the fault can happen to
  std::optional<SizeRange> size;
  std::optional<ImmediateMatch> immediate;
  Direction direction = Direction::kAny;
  // Schedule.
  std::uint64_t skip = 0;              // not the first so many
  std::optional<std::uint64_t> nth;    // the nth
  std::optional<std::uint64_t> every;  // every Nth event after `skip`
  std::optional<double> probability;   // and of those that are left, each with this probability
  std::optional<std::uint64_t> max;    // at most so often
  std::optional<Burst> burst;
  bool sticky = false;  // once it has fired, on every eligible event

  friend bool operator==(const Selector&, const Selector&) = default;
};

// How often a rule has to fire, or else the run proves less than it seems to (FaultEngine::Verify).
struct Expectation {
  std::uint64_t min = 1;
  std::optional<std::uint64_t> max;
  friend bool operator==(const Expectation&, const Expectation&) = default;
};

struct FaultRule {
  // A rule with the catalogue's parameters; without a name, its fault's.
  static FaultRule Of(Fault fault, std::string name = "");

  std::string name;  // unique in its plan: its random draws depend on it, and on no other rule
  Fault fault = Fault::kSendQueueFull;
  bool illegal = false;  // the explicit word that an illegal fault needs
  Parameters parameters;
  Selector when;
  Expectation expect_fired;

  friend bool operator==(const FaultRule&, const FaultRule&) = default;
};

struct FaultPlan {
  std::string about;                  // for people
  Legality mode = Legality::kStrict;  // the farthest that its rules may go
  std::vector<FaultRule> rules;       // where two fire on one event, the first one acts

  friend bool operator==(const FaultPlan&, const FaultPlan&) = default;
};

// Whether the plan makes sense. kInvalidArgument: one line that names the rule and the key, in the
// words of a plan's text.
absl::Status Validate(const FaultPlan& plan);

// "rule 2 (storm)": how messages call a rule. `index` counts from 0.
std::string RuleLabel(std::size_t index, const std::string& name);

// Nanoseconds of a window's end that is open.
inline constexpr std::int64_t kOpenEnd = coro::Duration::max().count();

std::string_view Name(Direction direction);  // any, initiator, target

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_PLAN_H_
