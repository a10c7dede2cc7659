#include "drydock/fabric/faults/plan_json.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/faults/json_reader.h"
#include "nlohmann/json.hpp"

namespace drydock::fabric::faults {
namespace {

using nlohmann::json;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::optional<Legality> LegalityFromName(std::string_view name) {
  for (const Legality legality : {Legality::kStrict, Legality::kAdversarial, Legality::kIllegal}) {
    if (Name(legality) == name) return legality;
  }
  return std::nullopt;
}

std::optional<Direction> DirectionFromName(std::string_view name) {
  for (const Direction direction : {Direction::kAny, Direction::kInitiator, Direction::kTarget}) {
    if (Name(direction) == name) return direction;
  }
  return std::nullopt;
}

JsonHandler IntoLegality(Legality& target) {
  return IntoWord<Legality>(target, LegalityFromName, "strict, adversarial or illegal");
}

// ---- Reading ----

JsonHandler IntoWindow(std::optional<Window>& target) {
  return [&target](const json& value, const JsonPlace& place) {
    Window window;
    RETURN_IF_ERROR(ReadObject(
        value, place,
        {{"from_ns", IntoNanoseconds(window.from)}, {"to_ns", IntoNanoseconds(window.to)}}));
    target = window;
    return absl::OkStatus();
  };
}

JsonHandler IntoBurst(std::optional<Burst>& target) {
  return [&target](const json& value, const JsonPlace& place) {
    Burst burst;
    RETURN_IF_ERROR(
        ReadObject(value, place, {{"len", Into(burst.length, 1)}, {"gap", Into(burst.gap)}}));
    target = burst;
    return absl::OkStatus();
  };
}

JsonHandler IntoSize(std::optional<SizeRange>& target) {
  return [&target](const json& value, const JsonPlace& place) {
    SizeRange size;
    RETURN_IF_ERROR(ReadObject(value, place, {{"min", Into(size.min)}, {"max", Into(size.max)}}));
    target = size;
    return absl::OkStatus();
  };
}

JsonHandler IntoImmediate(std::optional<ImmediateMatch>& target) {
  return [&target](const json& value, const JsonPlace& place) {
    ImmediateMatch match;
    RETURN_IF_ERROR(
        ReadObject(value, place, {{"mask", Into(match.mask)}, {"value", Into(match.value)}}));
    target = match;
    return absl::OkStatus();
  };
}

JsonHandler IntoOperations(OperationSet& target) {
  return [&target](const json& value, const JsonPlace& place) {
    std::vector<std::string> names;
    RETURN_IF_ERROR(IntoList(names)(value, place));
    for (const std::string& name : names) {
      OperationKind kind = OperationKind::kSend;
      RETURN_IF_ERROR(
          IntoWord<OperationKind>(kind, OperationFromName,
                                  "send, receive, write, read, remote_write, "
                                  "tagged_send, tagged_receive or atomic")(name, place));
      target.Add(kind);
    }
    return absl::OkStatus();
  };
}

JsonHandler IntoSelector(Selector& when) {
  return [&when](const json& value, const JsonPlace& place) {
    return ReadObject(value, place,
                      {{"window", IntoWindow(when.window)},
                       {"peer", IntoList(when.peers)},
                       {"nic", IntoList(when.nics)},
                       {"queue", IntoList(when.queues)},
                       {"key", IntoList(when.keys)},
                       {"operation", IntoOperations(when.operations)},
                       {"size", IntoSize(when.size)},
                       {"immediate", IntoImmediate(when.immediate)},
                       {"direction", IntoWord<Direction>(when.direction, DirectionFromName,
                                                         "any, initiator or target")},
                       {"skip", Into(when.skip)},
                       {"nth", Into(when.nth)},
                       {"every", Into(when.every)},
                       {"probability", Into(when.probability)},
                       {"max", Into(when.max)},
                       {"burst", IntoBurst(when.burst)},
                       {"sticky", Into(when.sticky)}});
  };
}

JsonHandler IntoExpectation(Expectation& expected) {
  return [&expected](const json& value, const JsonPlace& place) {
    return ReadObject(value, place, {{"min", Into(expected.min)}, {"max", Into(expected.max)}});
  };
}

JsonHandler IntoParameter(Parameters& parameters, const ParameterInfo& info) {
  return [&parameters, &info](const json& value, const JsonPlace& place) {
    if (info.parameter == Parameter::kError) {
      return IntoWord<ErrorCode>(parameters.error, ErrorCodeFromName,
                                 "a code of docs/errors.md in snake_case, such as no_memory")(
          value, place);
    }
    std::int64_t number = 0;
    RETURN_IF_ERROR(Into(number, info.least, info.most)(value, place));
    Set(parameters, info.parameter, number);
    return absl::OkStatus();
  };
}

JsonHandler IntoParameters(FaultRule& rule) {
  return [&rule](const json& value, const JsonPlace& place) {
    JsonKeys keys;
    for (const auto& taken : Describe(rule.fault).parameters) {
      if (!taken.has_value()) break;
      const ParameterInfo& info = Describe(taken->parameter);
      keys.emplace_back(info.name, IntoParameter(rule.parameters, info));
    }
    return ReadObject(value, place, keys);
  };
}

// Read before the rest: the rule's name, and which parameters it has.
absl::StatusOr<FaultRule> BeginRule(const json& value, const JsonPlace& place) {
  if (!value.is_object()) return place.Refuse("is not an object");
  if (!value.contains("fault")) return place.Refuse("has no fault");
  Fault fault = Fault::kSendQueueFull;
  RETURN_IF_ERROR(IntoWord<Fault>(fault, FaultFromName, "docs/faults.md lists the faults")(
      value["fault"], place.Child("fault")));
  std::string name;
  if (value.contains("name")) {
    RETURN_IF_ERROR(Into(name)(value["name"], place.Child("name")));
    if (name.empty()) return place.Refuse("name is empty");
  }
  return FaultRule::Of(fault, std::move(name));
}

absl::StatusOr<FaultRule> ReadRule(const json& value, std::size_t index) {
  ASSIGN_OR_RETURN(FaultRule rule, BeginRule(value, {RuleLabel(index, ""), ""}));
  const JsonPlace place{RuleLabel(index, rule.name), ""};
  const auto done = [](const json&, const JsonPlace&) { return absl::OkStatus(); };
  Legality legality = Describe(rule.fault).legality;
  RETURN_IF_ERROR(ReadObject(value, place,
                             {{"name", done},
                              {"fault", done},
                              {"legality", IntoLegality(legality)},
                              {"parameters", IntoParameters(rule)},
                              {"when", IntoSelector(rule.when)},
                              {"expect_fired", IntoExpectation(rule.expect_fired)}}));
  if (!value.contains("legality")) return rule;
  if (legality != Describe(rule.fault).legality) {
    return place.Refuse(absl::StrCat("legality is ", View(Name(legality)), ", and ",
                                     View(Describe(rule.fault).name), " is ",
                                     View(Name(Describe(rule.fault).legality))));
  }
  rule.illegal = legality == Legality::kIllegal;
  return rule;
}

JsonHandler IntoRules(std::vector<FaultRule>& rules) {
  return [&rules](const json& value, const JsonPlace& place) {
    if (!value.is_array()) return place.Refuse("is not a list");
    for (const json& element : value) {
      ASSIGN_OR_RETURN(FaultRule rule, ReadRule(element, rules.size()));
      rules.push_back(std::move(rule));
    }
    return absl::OkStatus();
  };
}

// ---- Writing ----

template <typename T>
void Put(json& object, const char* key, const std::optional<T>& value) {
  if (value.has_value()) object[key] = *value;
}

template <typename T>
void Put(json& object, const char* key, const std::vector<T>& values) {
  if (!values.empty()) object[key] = values;
}

void PutFilters(json& object, const Selector& when) {
  if (when.window.has_value()) {
    object["window"]["from_ns"] = when.window->from.count();
    if (when.window->to.count() != kOpenEnd) object["window"]["to_ns"] = when.window->to.count();
  }
  Put(object, "peer", when.peers);
  Put(object, "nic", when.nics);
  Put(object, "queue", when.queues);
  Put(object, "key", when.keys);
  for (std::size_t i = 0; i <= static_cast<std::size_t>(OperationKind::kAtomic); ++i) {
    const auto kind = static_cast<OperationKind>(i);
    if (when.operations.Has(kind)) object["operation"].push_back(std::string(NameInPlan(kind)));
  }
  if (when.size.has_value()) {
    object["size"] = {{"min", when.size->min}, {"max", when.size->max}};
  }
  if (when.immediate.has_value()) {
    object["immediate"] = {{"mask", when.immediate->mask}, {"value", when.immediate->value}};
  }
  if (when.direction != Direction::kAny) object["direction"] = std::string(Name(when.direction));
}

void PutSchedule(json& object, const Selector& when) {
  if (when.skip > 0) object["skip"] = when.skip;
  Put(object, "nth", when.nth);
  Put(object, "every", when.every);
  Put(object, "probability", when.probability);
  Put(object, "max", when.max);
  if (when.burst.has_value()) {
    object["burst"] = {{"len", when.burst->length}, {"gap", when.burst->gap}};
  }
  if (when.sticky) object["sticky"] = true;
}

json ToJson(const FaultRule& rule) {
  const FaultInfo& info = Describe(rule.fault);
  json object = {{"name", rule.name}, {"fault", std::string(info.name)}};
  if (rule.illegal) object["legality"] = std::string(Name(Legality::kIllegal));
  for (const auto& taken : info.parameters) {
    if (!taken.has_value()) break;
    json& value = object["parameters"][std::string(Describe(taken->parameter).name)];
    value = Get(rule.parameters, taken->parameter);
    if (taken->parameter == Parameter::kError) value = NameInPlan(rule.parameters.error);
  }
  json when = json::object();
  PutFilters(when, rule.when);
  PutSchedule(when, rule.when);
  if (!when.empty()) object["when"] = when;
  if (rule.expect_fired != Expectation{}) {
    object["expect_fired"]["min"] = rule.expect_fired.min;
    Put(object["expect_fired"], "max", rule.expect_fired.max);
  }
  return object;
}

}  // namespace

absl::StatusOr<FaultPlan> ParseFaultPlan(absl::string_view text) {
  ASSIGN_OR_RETURN(const json value, ParseStrictJson(text));
  FaultPlan plan;
  RETURN_IF_ERROR(ReadObject(value, {},
                             {{"about", Into(plan.about)},
                              {"mode", IntoLegality(plan.mode)},
                              {"rules", IntoRules(plan.rules)}}));
  if (!value.contains("rules")) return absl::InvalidArgumentError("rules is missing");
  RETURN_IF_ERROR(Validate(plan));
  return plan;
}

absl::StatusOr<FaultPlan> ReadFaultPlan(const std::string& path) {
  constexpr std::size_t kMost = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno)));
  std::string text;
  std::array<char, 4096> piece;
  while (text.size() <= kMost && (file.read(piece.data(), piece.size()), file.gcount() > 0)) {
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return absl::NotFoundError(absl::StrCat(path, ": it cannot be read"));
  if (text.size() > kMost) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a fault plan has at most ", kMost, " bytes"));
  }
  absl::StatusOr<FaultPlan> plan = ParseFaultPlan(text);
  if (plan.ok()) return plan;
  return absl::Status(plan.status().code(), absl::StrCat(path, ": ", plan.status().message()));
}

std::string FormatFaultPlan(const FaultPlan& plan) {
  json object = {{"mode", std::string(Name(plan.mode))}, {"rules", json::array()}};
  if (!plan.about.empty()) object["about"] = plan.about;
  for (const FaultRule& rule : plan.rules) object["rules"].push_back(ToJson(rule));
  return object.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
}

}  // namespace drydock::fabric::faults
