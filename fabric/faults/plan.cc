#include "drydock/fabric/faults/plan.h"

#include <map>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/printable.h"

namespace drydock::fabric::faults {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// The facts known at each point, beside the time and the NIC (EventView).
struct Known {
  bool queue = false;
  bool peer = false;
  bool operation = false;
};

Known KnownAt(Point point) {
  switch (point) {
    case Point::kOpenDomain:
    case Point::kOpenAddressVector:
    case Point::kOpenCounter:
    case Point::kRegisterMemory:
    case Point::kInsertPeer:
    case Point::kOpenEndpoint:
    case Point::kOpenCompletionQueue:
    case Point::kCapacity:
      return {};
    case Point::kRead:
    case Point::kWait:
      return {.queue = true};
    case Point::kMachine:
      return {.peer = true};
    case Point::kPost:
    case Point::kBatch:
    case Point::kOutcome:
    case Point::kTiming:
    case Point::kPlacement:
    case Point::kPacket:
      return {.queue = true, .peer = true, .operation = true};
  }
  return {};
}

// A check of one rule: refusals begin with the rule, then the key.
class RuleCheck {
 public:
  RuleCheck(const FaultPlan& plan, std::size_t index)
      : plan_(plan),
        rule_(plan.rules[index]),
        info_(Describe(rule_.fault)),
        label_(RuleLabel(index, rule_.name)) {}

  absl::Status Run() const {
    RETURN_IF_ERROR(CheckLegality());
    RETURN_IF_ERROR(CheckParameters());
    RETURN_IF_ERROR(CheckFilters());
    RETURN_IF_ERROR(CheckMeaning());
    RETURN_IF_ERROR(CheckSchedule());
    return CheckTogether();
  }

 private:
  absl::Status Refuse(absl::string_view key, absl::string_view why) const {
    return absl::InvalidArgumentError(absl::StrCat(label_, ": ", key, " ", why));
  }

  absl::Status CheckLegality() const {
    const bool illegal = info_.legality == Legality::kIllegal;
    if (illegal && !rule_.illegal) {
      return Refuse("legality", absl::StrCat("is missing: ", View(info_.name),
                                             " is illegal, and needs \"legality\": \"illegal\""));
    }
    if (!illegal && rule_.illegal) {
      return Refuse("legality", absl::StrCat("is illegal, and ", View(info_.name), " is ",
                                             View(Name(info_.legality))));
    }
    if (info_.legality > plan_.mode) {
      return Refuse("fault", absl::StrCat(View(info_.name), " is ", View(Name(info_.legality)),
                                          ", and the plan's mode is ", View(Name(plan_.mode))));
    }
    return absl::OkStatus();
  }

  absl::Status CheckParameters() const {
    for (const auto& taken : info_.parameters) {
      if (!taken.has_value()) break;
      const ParameterInfo& parameter = Describe(taken->parameter);
      const std::int64_t value = Get(rule_.parameters, taken->parameter);
      if (value < parameter.least || value > parameter.most) {
        return Refuse(
            absl::StrCat("parameters.", View(parameter.name)),
            absl::StrCat("is ", value, ": it takes ", parameter.least, " to ", parameter.most));
      }
    }
    const bool unknown =
        ErrorOfStatus(static_cast<std::int32_t>(rule_.parameters.status)) == ErrorCode::kOther;
    if (Takes(info_, Parameter::kStatus) && unknown) {
      return Refuse("parameters.status",
                    absl::StrCat("is ", rule_.parameters.status, ", which EFA does not define"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckFilters() const {
    const Selector& when = rule_.when;
    if (when.window.has_value() &&
        (when.window->from < coro::Duration::zero() || when.window->to <= when.window->from)) {
      return Refuse("when.window", "is empty: to_ns has to be after from_ns");
    }
    if (when.size.has_value() && when.size->min > when.size->max) {
      return Refuse("when.size", "is empty: min is over max");
    }
    if (when.immediate.has_value() && (when.immediate->value & ~when.immediate->mask) != 0) {
      return Refuse("when.immediate", "never matches: value has bits that mask lacks");
    }
    for (std::size_t i = 0; i < kOperationKinds; ++i) {
      const auto kind = static_cast<OperationKind>(i);
      if (!when.operations.Has(kind) || info_.operations.Has(kind)) continue;
      return Refuse("when.operation", absl::StrCat("has ", View(NameInPlan(kind)), ", which ",
                                                   View(info_.name), " does not happen to"));
    }
    return absl::OkStatus();
  }

  // Filters by facts that are unknown where the fault is decided would never match.
  absl::Status CheckMeaning() const {
    const Known known = KnownAt(info_.point);
    const Selector& when = rule_.when;
    absl::string_view key;
    if (!known.queue && !when.queues.empty()) key = "when.queue";
    if (!known.peer && !when.peers.empty()) key = "when.peer";
    if (!known.peer && when.direction != Direction::kAny) key = "when.direction";
    if (!known.operation && !when.keys.empty()) key = "when.key";
    if (!known.operation && when.size.has_value()) key = "when.size";
    if (!known.operation && when.immediate.has_value()) key = "when.immediate";
    if (key.empty()) return absl::OkStatus();
    return Refuse(key, absl::StrCat("has no meaning for ", View(info_.name)));
  }

  absl::Status CheckSchedule() const {
    const Selector& when = rule_.when;
    const bool sure = when.probability.value_or(1) > 0 && when.probability.value_or(1) <= 1;
    if (!sure) {
      return Refuse("when.probability",
                    absl::StrCat("is ", *when.probability, ": it takes more than 0 and at most 1"));
    }
    if (when.nth == 0u) return Refuse("when.nth", "is 0: events are counted from 1");
    if (when.every == 0u) return Refuse("when.every", "is 0: it takes 1 or more");
    if (when.max == 0u) return Refuse("when.max", "is 0: the rule could never fire");
    if (when.burst.has_value() && when.burst->length == 0) {
      return Refuse("when.burst", "has len 0: it takes 1 or more");
    }
    return absl::OkStatus();
  }

  absl::Status Contradiction(absl::string_view key, absl::string_view other) const {
    return Refuse(absl::StrCat("when.", key), absl::StrCat("contradicts when.", other));
  }

  absl::Status CheckTogether() const {
    const Selector& when = rule_.when;
    if (when.nth.has_value()) {
      if (when.every.has_value()) return Contradiction("nth", "every");
      if (when.probability.has_value()) return Contradiction("nth", "probability");
      if (when.skip > 0) return Contradiction("nth", "skip");
      if (when.max.has_value()) return Contradiction("nth", "max");
    }
    if (when.sticky && when.max.has_value()) return Contradiction("sticky", "max");
    if (when.sticky && when.burst.has_value()) return Contradiction("sticky", "burst");
    const Expectation& expected = rule_.expect_fired;
    if (expected.max.has_value() && expected.min > *expected.max) {
      return Refuse("expect_fired", "is empty: min is over max");
    }
    if (when.max.has_value() && expected.min > *when.max) {
      return Refuse("expect_fired", "contradicts when.max: it could never fire so often");
    }
    return absl::OkStatus();
  }

  static constexpr std::size_t kOperationKinds =
      static_cast<std::size_t>(OperationKind::kAtomic) + 1;

  const FaultPlan& plan_;
  const FaultRule& rule_;
  const FaultInfo& info_;
  const std::string label_;
};

absl::Status CheckName(const std::string& name, std::size_t index,
                       std::map<std::string, std::size_t>& seen) {
  const std::string label = RuleLabel(index, name);
  if (name.empty()) return absl::InvalidArgumentError(absl::StrCat(label, ": name is empty"));
  for (const char letter : name) {
    if (absl::ascii_isprint(static_cast<unsigned char>(letter))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(label, ": name takes printable ASCII characters only"));
  }
  const auto [other, added] = seen.emplace(name, index);
  if (added) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(label, ": name is also that of rule ",
                                                 other->second + 1, ": give one of them another"));
}

}  // namespace

FaultRule FaultRule::Of(Fault fault, std::string name) {
  const FaultInfo& info = Describe(fault);
  FaultRule rule;
  rule.name = name.empty() ? std::string(info.name) : std::move(name);
  rule.fault = fault;
  for (const auto& taken : info.parameters) {
    if (taken.has_value()) Set(rule.parameters, taken->parameter, taken->value);
  }
  return rule;
}

absl::Status Validate(const FaultPlan& plan) {
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    RETURN_IF_ERROR(CheckName(plan.rules[i].name, i, seen));
    RETURN_IF_ERROR(RuleCheck(plan, i).Run());
  }
  return absl::OkStatus();
}

std::string RuleLabel(std::size_t index, const std::string& name) {
  // A name that was not checked yet must not break the line.
  const std::string shown = Printable(name, 64);
  return shown.empty() ? absl::StrCat("rule ", index + 1)
                       : absl::StrCat("rule ", index + 1, " (", shown, ")");
}

std::string_view Name(Direction direction) {
  switch (direction) {
    case Direction::kAny:
      return "any";
    case Direction::kInitiator:
      return "initiator";
    case Direction::kTarget:
      return "target";
  }
  return "unknown";
}

}  // namespace drydock::fabric::faults
