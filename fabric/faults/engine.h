// Decides, at each point, whether a rule of a plan fires on an event, and counts the events. It is
// all that the decorator and the simulated NIC share.
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
//
// So the list of a run's firings describes its faults: a FiringListener collects them, and Restrict
// gives a second run the same ones, or fewer.

#ifndef DRYDOCK_FABRIC_FAULTS_ENGINE_H_
#define DRYDOCK_FABRIC_FAULTS_ENGINE_H_

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/clock.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/faults/event.h"
#include "drydock/fabric/faults/fault.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/fabric/faults/rule_schedule.h"

namespace drydock::fabric::faults {

// The rule that fires on an event; false: none does. Refers to the engine.
struct Firing {
  const FaultRule* rule = nullptr;
  std::uint64_t word = 0;  // random, for the fault's own draws

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

// One firing of a run: the number of the rule in its plan, from 0, and which of the events that are
// eligible for the rule it acted on, from 1.
struct FiringId {
  std::uint32_t rule = 0;
  std::uint64_t number = 0;

  friend auto operator<=>(const FiringId&, const FiringId&) = default;
};

// Is called for every rule that acts. Threads: any that asks the engine, one at a time, under the
// engine's lock, so a listener must not call the engine. Outlives the engine that has it.
class FiringListener {
 public:
  virtual ~FiringListener() = default;
  // The rule acts on the event `view`, as `firing` says. The arguments are valid during the call
  // only.
  virtual void OnFired(const FiringId& id, const EventView& view, const Firing& firing) = 0;
};

// Which faults each layer of a run applies. A fault that both apply goes to the device, which is
// nearer to the truth.
struct Appliers {
  FaultSet device;
  FaultSet decorator;
};

// How often a rule was eligible, fired and was shadowed.
struct RuleReport {
  std::string name;
  Fault fault;
  Layer layer;
  std::uint64_t eligible = 0;
  std::uint64_t fired = 0;
  std::uint64_t shadowed = 0;  // it would have fired, but a rule before it in the plan acted
  Expectation expected;
};

// Thread-safe. Blocking: never for long. Outlives the layers that ask it.
class FaultEngine {
 public:
  // kInvalidArgument: the plan is not valid. kUnimplemented: no layer of this run applies the fault
  // of a rule; one line that names the rule, and the layer that is missing.
  static absl::StatusOr<std::shared_ptr<FaultEngine>> Create(FaultPlan plan, std::uint64_t seed,
                                                             const Appliers& appliers);
  FaultEngine(const FaultEngine&) = delete;
  FaultEngine& operator=(const FaultEngine&) = delete;

  // Whether a rule may ever fire here, for an operation of these kinds. Costs nothing: an event
  // that concerns no rule needs no EventView.
  bool Concerns(Layer layer, Point point) const { return !Listening(layer, point).empty(); }
  bool Concerns(Layer layer, Point point, OperationKind kind) const {
    return Listening(layer, point).Has(kind);
  }

  // The event happens: every rule of the point that it matches counts it. Returns the first of the
  // plan's rules that fires.
  Firing Decide(Layer layer, Point point, const EventView& view);

  // The firing that Decide would return for the event; counts nothing.
  Firing Foresee(Layer layer, Point point, const EventView& view) const;

  // From now on nothing fires, and nothing is counted: the second phase of a test, in which
  // everything must come to an end.
  void Heal();
  // The same, from this time of the clock on, which outlives what is asked.
  void HealAt(const coro::Clock& clock, coro::Time time);

  // From now on a rule acts on exactly those of its eligible events that are listed, whatever its
  // schedule says. What it draws for one of them is what it would have drawn without the list, and
  // events count as before. `before`: by rule, how many of its events the numbers of the list count
  // before the first one of this engine; empty: none. Takes no memory, however long the list is,
  // which is read where it lies. REQUIRES: the list is sorted, and outlives the engine; nothing was
  // decided yet.
  void Restrict(std::span<const FiringId> only, std::span<const std::uint64_t> before = {});

  // Null: none. The listener outlives the engine, or is removed before. A listener that replaces
  // another one forwards to it, and puts it back at its end.
  void set_listener(FiringListener* listener);
  FiringListener* listener() const;

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
    std::uint64_t before;  // when restricted: see there
  };

  FaultEngine(FaultPlan plan, std::uint64_t seed, const Appliers& appliers);

  OperationSet Listening(Layer layer, Point point) const {
    return listening_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(point)];
  }
  static bool Matches(const ArmedRule& armed, const EventView& view);
  // Whether the rule at `index` fires on the next event that `schedule` counts.
  bool Fires(std::size_t index, RuleSchedule& schedule, std::uint64_t number) const;
  bool IsHealed() const {
    return healed_ || (heal_clock_ != nullptr && heal_clock_->Now() >= heal_at_);
  }

  const FaultPlan plan_;
  std::array<std::array<OperationSet, kPointCount>, kLayerCount> listening_{};
  mutable std::mutex mutex_;  // of what follows
  bool healed_ = false;
  const coro::Clock* heal_clock_ = nullptr;  // null: no time is set
  coro::Time heal_at_{};
  bool restricted_ = false;
  std::span<const FiringId> only_;  // when restricted
  FiringListener* listener_ = nullptr;
  std::vector<ArmedRule> rules_;  // the plan's order
  std::array<std::array<std::vector<std::size_t>, kPointCount>, kLayerCount> at_;  // indices
};

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_ENGINE_H_
