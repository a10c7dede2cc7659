#include "drydock/fabric/faults/engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::fabric::faults {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// The purpose of a rule's draw: part of the key, never renumbered.
enum Purpose : std::uint64_t { kSchedule = 1, kFault = 2 };

// A key of the run and of the rule's name (FNV-1a, then mixed).
std::uint64_t KeyOf(std::uint64_t seed, const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ull;
  }
  return coro::Combine(coro::Mix(seed), hash);
}

std::uint64_t Word(std::uint64_t key, Purpose purpose, std::uint64_t number) {
  return coro::Combine(coro::Combine(key, purpose), number);
}

template <typename T, typename Value>
bool Holds(const std::vector<T>& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// An empty list matches everything; a value that is not known matches nothing else.
template <typename T>
bool Matches(const std::vector<T>& list, const std::optional<T>& value) {
  return list.empty() || (value.has_value() && Holds(list, *value));
}

// A device is one of a machine: a rule may name both, or the device alone.
bool IsNamed(const std::vector<std::string>& names, std::string_view nic) {
  return Holds(names, nic) || Holds(names, nic.substr(nic.find('/') + 1));
}

// The size that a fault of Point::kCapacity makes smaller.
std::optional<Capacity> CapacityOf(Fault fault) {
  switch (fault) {
    case Fault::kSendQueueDepth:
      return Capacity::kSendQueue;
    case Fault::kReceiveQueueDepth:
      return Capacity::kReceiveQueue;
    case Fault::kInjectLimit:
      return Capacity::kInject;
    case Fault::kCompletionQueueDepth:
      return Capacity::kCompletionQueue;
    default:
      return std::nullopt;
  }
}

// Whether the fault can happen to such an event, whatever the selector says.
bool Concerns(Fault fault, const EventView& view) {
  if (fault == Fault::kUnsignalledError) return !view.signalled;
  if (fault == Fault::kImmediateFlood) return view.immediate.has_value();
  return !view.capacity.has_value() || view.capacity == CapacityOf(fault);
}

bool MatchesFilters(const Selector& when, const EventView& view) {
  if (when.window.has_value() && (view.time < when.window->from || view.time >= when.window->to)) {
    return false;
  }
  if (when.direction != Direction::kAny && when.direction != view.direction) return false;
  if (when.size.has_value() && (!view.size_bytes.has_value() || *view.size_bytes < when.size->min ||
                                *view.size_bytes > when.size->max)) {
    return false;
  }
  if (when.immediate.has_value() &&
      (!view.immediate.has_value() ||
       (*view.immediate & when.immediate->mask) != when.immediate->value)) {
    return false;
  }
  return Matches(when.peers, view.peer) && Matches(when.queues, view.queue) &&
         Matches(when.keys, view.key) && (when.nics.empty() || IsNamed(when.nics, view.nic));
}

// "rule 1 (storm), send_queue_full, never fired: 0 of 12 eligible events, expected at least 1"
std::string Complaint(std::size_t index, const RuleReport& rule) {
  std::string text = RuleLabel(index, rule.name);
  absl::StrAppend(&text, ", ", View(Describe(rule.fault).name),
                  rule.fired == 0 ? ", never fired: 0" : absl::StrCat(", fired ", rule.fired),
                  " of ", rule.eligible, " eligible events, expected ");
  if (rule.expected.max.has_value()) {
    absl::StrAppend(&text, rule.expected.min, " to ", *rule.expected.max);
  } else {
    absl::StrAppend(&text, "at least ", rule.expected.min);
  }
  if (rule.shadowed > 0) {
    absl::StrAppend(&text, " (on ", rule.shadowed, " more a rule before it acted)");
  }
  return text;
}

}  // namespace

absl::StatusOr<std::shared_ptr<FaultEngine>> FaultEngine::Create(FaultPlan plan, std::uint64_t seed,
                                                                 const Appliers& appliers) {
  RETURN_IF_ERROR(Validate(plan));
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    const FaultInfo& info = Describe(plan.rules[i].fault);
    const auto bit = static_cast<std::size_t>(info.fault);
    if (appliers.device[bit] || appliers.decorator[bit]) continue;
    return absl::UnimplementedError(
        absl::StrCat(RuleLabel(i, plan.rules[i].name), ": ", View(info.name), " is applied ",
                     info.decorator ? "by a layer" : "inside the simulated NIC",
                     ", which this run does not have"));
  }
  return std::shared_ptr<FaultEngine>(new FaultEngine(std::move(plan), seed, appliers));
}

FaultEngine::FaultEngine(FaultPlan plan, std::uint64_t seed, const Appliers& appliers)
    : plan_(std::move(plan)) {
  for (const FaultRule& rule : plan_.rules) {
    const FaultInfo& info = Describe(rule.fault);
    const bool device = appliers.device[static_cast<std::size_t>(rule.fault)];
    const Layer layer = device ? Layer::kDevice : Layer::kDecorator;
    OperationSet operations = rule.when.operations;
    if (operations.empty()) operations = info.operations;
    // A fault that does not act on operations fires for any kind of them.
    if (operations.empty()) operations = OperationSet::All();
    const auto at = static_cast<std::size_t>(info.point);
    listening_[static_cast<std::size_t>(layer)][at].Add(operations);
    at_[static_cast<std::size_t>(layer)][at].push_back(rules_.size());
    rules_.push_back({&rule, layer, operations, KeyOf(seed, rule.name), {}, 0});
  }
}

bool FaultEngine::Matches(const ArmedRule& armed, const EventView& view) {
  if (view.operation.has_value() && !armed.operations.Has(*view.operation)) return false;
  return faults::Concerns(armed.rule->fault, view) && MatchesFilters(armed.rule->when, view);
}

bool FaultEngine::Fires(std::size_t index, RuleSchedule& schedule, std::uint64_t number) const {
  const ArmedRule& armed = rules_[index];
  if (!restricted_) return schedule.Next(armed.rule->when, Word(armed.key, kSchedule, number));
  const FiringId id{static_cast<std::uint32_t>(index), armed.before + number};
  return schedule.Count(std::binary_search(only_.begin(), only_.end(), id));
}

Firing FaultEngine::Decide(Layer layer, Point point, const EventView& view) {
  if (!Concerns(layer, point)) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  Firing acting;
  if (IsHealed()) return acting;
  for (const std::size_t index :
       at_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(point)]) {
    ArmedRule& armed = rules_[index];
    if (!Matches(armed, view)) continue;
    const std::uint64_t number = armed.schedule.eligible() + 1;
    if (!Fires(index, armed.schedule, number)) continue;
    if (acting) {
      armed.schedule.Yield();
      continue;
    }
    acting = {armed.rule, Word(armed.key, kFault, number)};
    if (listener_ != nullptr) {
      listener_->OnFired({static_cast<std::uint32_t>(index), number}, view, acting);
    }
  }
  return acting;
}

Firing FaultEngine::Foresee(Layer layer, Point point, const EventView& view) const {
  if (!Concerns(layer, point)) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  if (IsHealed()) return {};
  for (const std::size_t index :
       at_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(point)]) {
    const ArmedRule& armed = rules_[index];
    if (!Matches(armed, view)) continue;
    RuleSchedule schedule = armed.schedule;
    const std::uint64_t number = schedule.eligible() + 1;
    if (Fires(index, schedule, number)) {
      return {armed.rule, Word(armed.key, kFault, number)};
    }
  }
  return {};
}

void FaultEngine::Heal() {
  const std::lock_guard<std::mutex> lock(mutex_);
  healed_ = true;
}

void FaultEngine::HealAt(const coro::Clock& clock, coro::Time time) {
  const std::lock_guard<std::mutex> lock(mutex_);
  heal_clock_ = &clock;
  heal_at_ = time;
}

void FaultEngine::Restrict(std::span<const FiringId> only, std::span<const std::uint64_t> before) {
  const std::lock_guard<std::mutex> lock(mutex_);
  restricted_ = true;
  only_ = only;
  for (std::size_t i = 0; i < std::min(before.size(), rules_.size()); ++i) {
    rules_[i].before = before[i];
  }
}

void FaultEngine::set_listener(FiringListener* listener) {
  const std::lock_guard<std::mutex> lock(mutex_);
  listener_ = listener;
}

FiringListener* FaultEngine::listener() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return listener_;
}

std::vector<RuleReport> FaultEngine::Report() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<RuleReport> reports;
  for (const ArmedRule& armed : rules_) {
    reports.push_back({.name = armed.rule->name,
                       .fault = armed.rule->fault,
                       .layer = armed.layer,
                       .eligible = armed.schedule.eligible(),
                       .fired = armed.schedule.fired(),
                       .shadowed = armed.schedule.shadowed(),
                       .expected = armed.rule->expect_fired});
  }
  return reports;
}

absl::Status FaultEngine::Verify() const {
  std::string complaints;
  const std::vector<RuleReport> reports = Report();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const RuleReport& rule = reports[i];
    const bool too_often = rule.expected.max.has_value() && rule.fired > *rule.expected.max;
    if (rule.fired >= rule.expected.min && !too_often) continue;
    absl::StrAppend(&complaints, complaints.empty() ? "" : "; ", Complaint(i, rule));
  }
  if (complaints.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(complaints);
}

}  // namespace drydock::fabric::faults
