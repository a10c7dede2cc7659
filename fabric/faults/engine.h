// Answers, at each point, whether a rule of a plan fires on an event; and counts. The one thing
// that the decorator and the simulated NIC share.
//
//   auto engine = FaultEngine::Create(plan, seed, {.decorator = FaultsOf(Layer::kDecorator)});
//   if (const Firing firing = (*engine)->Decide(Layer::kDecorator, Point::kPost, view)) {
//     ... firing.fault(), firing.parameters().delay, firing.rule->name
//   }
//   ...
//   absl::Status status = (*engine)->Verify();   // a rule that never fired is an error
//
// Deterministic. What a rule draws depends on the seed, its own name and the number of the event
// among its own eligible events, and on nothing else: a rule that never matches, a rule more, or
// other rules in another order change nothing for it.

#ifndef FABRIC_FAULTS_ENGINE_H_
#define FABRIC_FAULTS_ENGINE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coro/keyed_random.h"
#include "fabric/faults/event.h"
#include "fabric/faults/fault.h"
#include "fabric/faults/plan.h"
#include "fabric/faults/rule_schedule.h"

namespace fabric::faults {

// That a rule fires on an event, or (false) that none does. Refers to the engine.
struct Firing {
  const FaultRule* rule = nullptr;
  std::uint64_t word = 0;  // random: for what the fault draws itself

  explicit operator bool() const { return rule != nullptr; }
  // REQUIRES of these: a rule fires.
  Fault fault() const { return rule->fault; }
  const Parameters& parameters() const { return rule->parameters; }
  // The delay, with its jitter drawn.
  coro::Duration Delay() const {
    const auto jitter = static_cast<std::uint64_t>(rule->parameters.jitter.count());
    return rule->parameters.delay +
           coro::Duration(static_cast<std::int64_t>(coro::Below(word, jitter + 1)));
  }
};

// Which faults each layer of a run applies. A fault that both apply goes to the device, which is
// nearer to the truth.
struct Appliers {
  FaultSet device;
  FaultSet decorator;
};

// What became of a rule.
struct RuleReport {
  std::string name;
  Fault fault;
  Layer layer;
  std::uint64_t eligible = 0;
  std::uint64_t fired = 0;
  std::uint64_t shadowed = 0;  // it would have fired, but a rule before it in the plan acted
  Expectation expected;
};

// Thread-safe. Blocking: never for long. Outlives whoever asks it.
class FaultEngine {
 public:
  // kInvalidArgument: the plan is not valid. kUnimplemented: nobody in this run applies the fault
  // of a rule; one line that names the rule, and the layer that is missing.
  static absl::StatusOr<std::shared_ptr<FaultEngine>> Create(FaultPlan plan, std::uint64_t seed,
                                                             const Appliers& appliers);
  FaultEngine(const FaultEngine&) = delete;
  FaultEngine& operator=(const FaultEngine&) = delete;

  // Whether a rule may ever fire here, for an operation of these kinds. Costs nothing: what no rule
  // concerns needs no EventView.
  bool Concerns(Layer layer, Point point) const { return !Listening(layer, point).empty(); }
  bool Concerns(Layer layer, Point point, OperationKind kind) const {
    return Listening(layer, point).Has(kind);
  }

  // The event happens: every rule of the point that it matches counts it. Returns the first of the
  // plan's rules that fires.
  Firing Decide(Layer layer, Point point, const EventView& view);

  // What Decide would return, without that the event happens.
  Firing Foresee(Layer layer, Point point, const EventView& view) const;

  // From now on nothing fires, and nothing is counted: the second phase of a test, in which
  // everything must come to an end.
  void Heal();

  // In the plan's order.
  std::vector<RuleReport> Report() const;

  // kFailedPrecondition, in one line: the rules that fired less or more often than expected, with
  // their counts.
  absl::Status Verify() const;

  const FaultPlan& plan() const { return plan_; }

 private:
  struct ArmedRule {
    const FaultRule* rule;
    Layer layer;
    OperationSet operations;
    std::uint64_t key;  // of its random draws
    RuleSchedule schedule;
  };

  FaultEngine(FaultPlan plan, std::uint64_t seed, const Appliers& appliers);

  OperationSet Listening(Layer layer, Point point) const {
    return listening_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(point)];
  }
  static bool Matches(const ArmedRule& armed, const EventView& view);

  const FaultPlan plan_;
  std::array<std::array<OperationSet, kPointCount>, kLayerCount> listening_{};
  mutable std::mutex mutex_;  // of what follows
  bool healed_ = false;
  std::vector<ArmedRule> rules_;  // the plan's order
  std::array<std::array<std::vector<std::size_t>, kPointCount>, kLayerCount> at_;  // indices
};

}  // namespace fabric::faults

#endif  // FABRIC_FAULTS_ENGINE_H_
