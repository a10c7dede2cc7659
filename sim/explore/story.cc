#include "drydock/sim/explore/story.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "drydock/fabric/faults/fault.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/profile/unpublished.h"

namespace drydock::sim::explore {
namespace {

using fabric::faults::FaultRule;

// Of a run that was not shrunk.
constexpr std::size_t kMostSentences = 20;
// Characters of a strategy's name: an order may have many choices.
constexpr std::size_t kMostStrategy = 80;

std::string Microseconds(coro::Duration time) {
  return absl::StrFormat("%.3g us", static_cast<double>(time.count()) / 1000);
}

// When something happens: to the nanosecond, as events are.
std::string At(coro::Duration time) {
  return absl::StrFormat("at %.3f us", static_cast<double>(time.count()) / 1000);
}

std::string Text(const ShortName& name) { return std::string(name.data()); }
std::string Text(std::string_view text) { return std::string(text); }

std::string Ordinal(std::uint64_t number) {
  const bool teen = number % 100 / 10 == 1;
  const std::uint64_t last = teen ? 0 : number % 10;
  return absl::StrCat(number, last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

class Narrator {
 public:
  Narrator(const RunSpec& spec, const RunTrace& trace)
      : spec_(spec),
        trace_(trace),
        known_(static_cast<std::size_t>(
            std::min<std::uint64_t>(trace.operation_count, RunTrace::kMostOperations))) {}

  std::string FiringSentence(const FiringEntry& entry) const {
    const FaultRule& rule = spec_.plan.rules[entry.id.rule];
    const fabric::faults::FaultInfo& info = fabric::faults::Describe(rule.fault);
    std::string text = absl::StrCat(At(entry.time), " the fault ", Text(info.name));
    if (rule.name != info.name) absl::StrAppend(&text, " (", rule.name, ")");
    if (entry.has_operation) {
      absl::StrAppend(&text, " hits a ", Text(fabric::Name(entry.operation)), " of ",
                      entry.size_bytes, " bytes");
    } else {
      absl::StrAppend(&text, " happens");
    }
    if (entry.has_peer) absl::StrAppend(&text, " to peer ", entry.peer);
    if (entry.nic[0] != '\0') absl::StrAppend(&text, " at ", Text(entry.nic));
    absl::StrAppend(&text, ", the ", Ordinal(entry.id.number),
                    " event that it could: ", Text(info.effect));
    return text;
  }

  // "write 7 (4096 bytes, server/efa0 -> client/efa0, immediate 17)"
  std::string NameOf(std::size_t index) const {
    const OperationEntry& entry = trace_.operations[index];
    std::size_t number = 1;
    for (std::size_t i = 0; i < index; ++i) number += IsAlike(i, index) ? 1 : 0;
    std::string text = absl::StrCat(Text(fabric::Name(entry.kind)), " ", number, " (", entry.bytes,
                                    " bytes, ", NicName(entry.from), " -> ", NicName(entry.to));
    if (entry.has_immediate) absl::StrAppend(&text, ", immediate ", entry.immediate);
    return text + ")";
  }

  // How a disturbed operation stands among those that go the same way.
  std::string DisturbedSentence(std::size_t index) const {
    const OperationEntry& entry = trace_.operations[index];
    std::string text = NameOf(index);
    const std::size_t first = FirstOvertaking(index);
    const std::size_t last = LastOvertaken(index);
    if (!entry.landed) {
      absl::StrAppend(&text, " has not landed when the program ends");
      if (first == known_) return text;
      return absl::StrCat(text, ": ", NameOf(first), ", which was posted after it, landed ",
                          Microseconds(End() - trace_.operations[first].landing), " before");
    }
    absl::StrAppend(&text, " lands ", At(entry.landing));
    if (first < known_) {
      const OperationEntry& other = trace_.operations[first];
      absl::StrAppend(&text, ", ", Microseconds(entry.landing - other.landing), " after ",
                      NameOf(first), ", which was posted after it");
    } else if (last < known_) {
      const OperationEntry& other = trace_.operations[last];
      if (!other.landed) {
        return absl::StrCat(text, ", and ", NameOf(last),
                            ", which was posted before it, has not when the program ends");
      }
      absl::StrAppend(&text, ", ", Microseconds(other.landing - entry.landing), " before ",
                      NameOf(last), ", which was posted before it");
    } else {
      absl::StrAppend(&text, ", ", Microseconds(entry.landing - entry.fetched),
                      " after it was posted");
    }
    return text;
  }

  std::size_t known() const { return known_; }

 private:
  bool IsSameWay(std::size_t a, std::size_t b) const {
    const OperationEntry& x = trace_.operations[a];
    const OperationEntry& y = trace_.operations[b];
    return x.from == y.from && x.to == y.to;
  }
  bool IsAlike(std::size_t a, std::size_t b) const {
    return IsSameWay(a, b) && trace_.operations[a].kind == trace_.operations[b].kind;
  }

  coro::Duration End() const {
    const std::vector<LoggedEvent> events = trace_.LastEvents();
    return events.empty() ? coro::Duration() : events.back().time;
  }

  // When its last byte lands; later than everything, if it does not.
  coro::Duration LandingOf(std::size_t index) const {
    const OperationEntry& entry = trace_.operations[index];
    return entry.landed ? entry.landing : coro::Duration::max();
  }

  // An operation with an immediate comes first, because it misleads a program; then the first to
  // land.
  bool IsToldBefore(std::size_t a, std::size_t b) const {
    const OperationEntry& x = trace_.operations[a];
    const OperationEntry& y = trace_.operations[b];
    return x.has_immediate != y.has_immediate ? x.has_immediate : x.landing < y.landing;
  }

  // Of those that were posted after it and land before it, the one to tell; known(): none.
  std::size_t FirstOvertaking(std::size_t index) const {
    std::size_t first = known_;
    for (std::size_t i = index + 1; i < known_; ++i) {
      if (!IsSameWay(i, index) || LandingOf(i) >= LandingOf(index)) continue;
      if (first == known_ || IsToldBefore(i, first)) first = i;
    }
    return first;
  }

  // Of those that were posted before it and land after it, or never, the last to land; known():
  // none.
  std::size_t LastOvertaken(std::size_t index) const {
    std::size_t last = known_;
    for (std::size_t i = 0; i < index; ++i) {
      if (!IsSameWay(i, index) || LandingOf(i) <= LandingOf(index)) continue;
      if (last == known_ || LandingOf(i) > LandingOf(last)) last = i;
    }
    return last;
  }

  std::string NicName(std::uint32_t nic) const {
    if (nic >= RunTrace::kMostNics) return "nobody";
    const std::string name = Text(trace_.nics[nic]);
    return name.empty() ? "nobody" : name;
  }

  const RunSpec& spec_;
  const RunTrace& trace_;
  const std::size_t known_;
};

void TellFirings(const Narrator& narrator, const RunTrace& trace, std::vector<std::string>& story) {
  const std::uint64_t told = std::min<std::uint64_t>(trace.firing_count, kMostSentences);
  for (std::uint64_t i = 0; i < told; ++i) {
    story.push_back(narrator.FiringSentence(trace.firings[i]));
  }
  if (told < trace.firing_count) {
    story.push_back(absl::StrCat("and ", trace.firing_count - told, " more faults"));
  }
}

void TellDisturbed(const Narrator& narrator, const RunSpec& spec, const RunTrace& trace,
                   std::vector<std::string>& story) {
  if (!spec.disturbed.has_value()) {
    if (trace.operation_count == 0) return;
    story.push_back(
        absl::StrCat("its ", trace.operation_count,
                     spec.strategy.schedule == nullptr
                         ? " operations take as long as the network lets them, in any order"
                         : " operations come in the order that the strategy chooses"));
    return;
  }
  std::size_t told = 0;
  for (const std::uint64_t index : *spec.disturbed) {
    if (index >= narrator.known()) continue;
    if (told++ < kMostSentences) {
      story.push_back(narrator.DisturbedSentence(static_cast<std::size_t>(index)));
    }
  }
  if (told > kMostSentences) {
    story.push_back(
        absl::StrCat("and ", told - kMostSentences, " more operations that are not calm"));
  }
  const std::uint64_t calm =
      trace.operation_count - std::min<std::uint64_t>(told, trace.operation_count);
  if (calm > 0) {
    story.push_back(absl::StrCat(
        calm, calm == 1 ? " other operation is" : " other operations are", " calm: ",
        spec.strategy.schedule == nullptr ? "the least delay, in order, nothing lost"
                                          : "the strategy delays them, and leaves them in order"));
  }
}

// What a run was like beside its program, its seed and its faults: a failure may need it.
std::string Conditions(const RunSpec& spec) {
  std::string text;
  if (spec.strategy.schedule != nullptr) {
    absl::StrAppend(&text, ", strategy ", spec.strategy.name.substr(0, kMostStrategy));
  }
  if (!spec.figures.empty()) {
    absl::StrAppend(&text, ", ", absl::StrReplaceAll(FormatFigures(spec.figures), {{",", ", "}}));
  }
  if (spec.heal_after.has_value()) {
    absl::StrAppend(&text, ", no fault after ", spec.heal_after->count() / 1000, " us");
  }
  return text;
}

}  // namespace

std::vector<std::string> TellStory(const Subject& subject, const RunSpec& spec,
                                   const TracedRun& run) {
  const RunTrace& trace = *run.trace;
  std::vector<std::string> story;
  std::string heading = absl::StrCat(subject.name, " with seed ", spec.seed);
  const Parameters parameters = AllParameters(subject.parameters, spec.parameters);
  if (!parameters.empty()) {
    absl::StrAppend(&heading, ", ",
                    absl::StrReplaceAll(FormatParameters(parameters), {{",", ", "}}));
  }
  absl::StrAppend(&heading, Conditions(spec));
  absl::StrAppend(&heading, ": ", trace.operation_count,
                  trace.operation_count == 1 ? " operation, " : " operations, ", trace.firing_count,
                  trace.firing_count == 1 ? " fault" : " faults");
  story.push_back(heading);
  const Narrator narrator(spec, trace);
  TellFirings(narrator, trace, story);
  TellDisturbed(narrator, spec, trace, story);
  std::string end = Text(Name(run.result.verdict));
  if (!run.result.text.empty()) absl::StrAppend(&end, ": ", run.result.text);
  story.push_back(end);
  return story;
}

}  // namespace drydock::sim::explore
