#include "drydock/sim/capture/steer.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/faults/fault.h"
#include "drydock/fabric/faults/plan.h"

namespace drydock::sim::capture {
namespace {

using fabric::ErrorCode;
using fabric::OperationKind;
using fabric::faults::Fault;
using fabric::faults::FaultPlan;
using fabric::faults::FaultRule;

// A completion that has to come after another one comes so much later: more than a poll costs.
constexpr coro::Duration kGap = std::chrono::microseconds(1);

constexpr std::size_t kMany = 512;

// Every rule is asked about every operation: so many rules are enough.
std::size_t MostRules(std::size_t operations) {
  constexpr std::size_t kMostQuestions = std::size_t{1} << 28;
  constexpr std::size_t kMostRules = 8192;
  return std::min(kMostRules, kMostQuestions / std::max<std::size_t>(operations, 1));
}

// A completion that a program read, in a form in which two runs can be compared: an operation, or
// the k-th completion without one of a queue.
struct Item {
  Index operation = kNowhere;
  std::uint64_t unsolicited = 0;

  friend auto operator<=>(const Item&, const Item&) = default;
};

// ---- Reading ----

// By queue, in the order of reading.
template <typename T, typename Take>
void EachItem(const std::vector<T>& read, Take take) {
  std::map<Index, std::uint64_t> unsolicited;
  for (const T& entry : read) {
    Item item{.operation = entry.operation};
    if (entry.operation == kNowhere) item.unsolicited = ++unsolicited[entry.queue];
    take(item, entry);
  }
}

std::vector<Seen> InOrder(const Node& node) {
  std::vector<Seen> seen;
  for (const Step& step : node.steps) {
    if (step.kind == StepKind::kRead) seen.push_back(node.seen[step.index]);
  }
  return seen;
}

std::vector<std::vector<Item>> Recorded(const Node& node) {
  std::vector<std::vector<Item>> items(node.queues.size());
  EachItem(InOrder(node),
           [&](const Item& item, const Seen& seen) { items[seen.queue].push_back(item); });
  return items;
}

std::vector<std::vector<std::pair<Item, ReadBack>>> Replayed(const Node& node,
                                                             const ReplayRun::NodeRun& run) {
  std::vector<std::vector<std::pair<Item, ReadBack>>> items(node.queues.size());
  EachItem(run.read_back, [&](const Item& item, const ReadBack& read) {
    items[read.queue].emplace_back(item, read);
  });
  return items;
}

// ---- Rules ----

// Peers' operations, and the posts of powers, go through a decorator unseen (faulty_fabric.h): a
// rule can count their completions only.
bool IsCounted(OperationKind kind) { return IsReceive(kind) || IsTagged(kind); }

// The rules of one machine, by their subject.
class Rules {
 public:
  explicit Rules(const Node& node) : node_(node) {}

  // The item's completion comes later, by so much more.
  void Delay(Index queue, const Item& item, coro::Duration by) { delays_[{queue, item}] += by; }
  void Fail(Index operation, Fault fault, coro::Duration after) {
    failures_[operation] = {fault, after};
  }
  bool Fails(Index operation) const { return failures_.count(operation) > 0; }
  // Whether the bytes of a failing operation reach memory all the same, where the fault leaves that
  // open.
  void set_landed(bool landed) { landed_ = landed; }

  std::size_t held() const { return delays_.size(); }
  std::size_t failed() const { return failures_.size(); }

  // Which of its kind an operation or arrival is comes from the run without rules.
  void Learn(const ReplayRun::NodeRun& run) {
    numbers_.clear();
    for (Index i = 0; i < run.outcomes.size(); ++i) numbers_[{i, 0}] = run.outcomes[i].number;
    endpoint_numbers_ = run.endpoint_numbers;
    EachItem(run.read_back, [&](const Item& item, const ReadBack& read) {
      const bool arrived = read.operation == kNowhere || IsCounted(read.kind);
      if (arrived && read.arrival > 0) arrivals_.try_emplace({read.queue, item}, read.arrival);
    });
  }

  FaultPlan Plan() const {
    FaultPlan plan;
    for (const auto& [operation, failure] : failures_) {
      FaultRule rule = FaultRule::Of(failure.first, absl::StrCat("fail ", operation));
      rule.parameters.delay = failure.second;
      const bool open =
          Takes(fabric::faults::Describe(failure.first), fabric::faults::Parameter::kPlacedPercent);
      if (open) rule.parameters.placed_percent = landed_ ? 100 : 0;
      Add(plan, std::move(rule),
          node_.endpoints[node_.operations[operation].endpoint].receive_queue,
          {.operation = operation});
    }
    for (const auto& [key, by] : delays_) {
      FaultRule rule = FaultRule::Of(
          Fault::kDelayedCompletion,
          absl::StrCat("hold ", key.first, " ", key.second.operation, " ", key.second.unsolicited));
      rule.parameters.delay = by;
      rule.parameters.jitter = {};
      Add(plan, std::move(rule), key.first, key.second);
    }
    return plan;
  }

 private:
  void Add(FaultPlan& plan, FaultRule rule, Index queue, const Item& item) const {
    if (plan.rules.size() >= MostRules(node_.operations.size())) return;
    rule.expect_fired.min = 0;
    const bool unsolicited = item.operation == kNowhere;
    const OperationKind kind =
        unsolicited ? OperationKind::kRemoteWrite : node_.operations[item.operation].kind;
    rule.when.operations = {kind};
    if (unsolicited || IsCounted(kind)) {
      // Of these, nothing is known above a fabric but when their completion came.
      const auto arrival = arrivals_.find({queue, item});
      if (arrival == arrivals_.end()) return;
      rule.when.nth = arrival->second;
    } else {
      const auto number = endpoint_numbers_[node_.operations[item.operation].endpoint];
      const std::uint64_t nth = numbers_.at({item.operation, 0});
      if (!number.has_value() || nth == 0) return;
      rule.when.queues = {*number};
      rule.when.nth = nth;
    }
    plan.rules.push_back(std::move(rule));
  }

  const Node& node_;
  bool landed_ = false;
  std::map<std::pair<Index, Item>, coro::Duration> delays_;
  std::map<Index, std::pair<Fault, coro::Duration>> failures_;
  std::map<std::pair<Index, int>, std::uint64_t> numbers_;
  std::map<std::pair<Index, Item>, std::uint64_t> arrivals_;
  std::vector<std::optional<std::uint32_t>> endpoint_numbers_;
};

// Delays completions that came before one that they followed in the capture. Returns how many were
// delayed.
std::size_t HoldBack(const Node& node, const ReplayRun::NodeRun& run, Rules& rules) {
  const auto recorded = Recorded(node);
  const auto replayed = Replayed(node, run);
  std::size_t delayed = 0;
  for (Index queue = 0; queue < recorded.size(); ++queue) {
    std::map<Item, std::pair<coro::Duration, std::size_t>> when;  // and where in the queue
    for (std::size_t i = 0; i < replayed[queue].size(); ++i) {
      when[replayed[queue][i].first] = {replayed[queue][i].second.time, i};
    }
    std::pair<coro::Duration, std::size_t> latest{coro::Duration::min(), 0};
    for (const Item& item : recorded[queue]) {
      const auto found = when.find(item);
      if (found == when.end()) continue;
      if (found->second >= latest) {
        latest = found->second;
        continue;
      }
      const coro::Duration time = latest.first + kGap;
      rules.Delay(queue, item, time - found->second.first);
      latest = {time, 0};
      ++delayed;
    }
  }
  return delayed;
}

// The fault that ends operations of this kind with this error.
std::optional<Fault> FaultFor(ErrorCode error, OperationKind kind) {
  for (const fabric::faults::FaultInfo& info : fabric::faults::Catalogue()) {
    const auto status = fabric::faults::StatusOf(info.fault);
    if (!status.has_value() || !info.decorator || !info.operations.Has(kind)) continue;
    if (fabric::faults::ErrorOfStatus(*status) == error) return info.fault;
  }
  return std::nullopt;
}

std::map<Index, coro::Duration> SeenTimes(const Node& node) {
  std::map<Index, coro::Duration> times;
  for (const Step& step : node.steps) {
    if (step.kind != StepKind::kRead) continue;
    const Seen& seen = node.seen[step.index];
    if (seen.operation != kNowhere) times[seen.operation] = step.time;
  }
  return times;
}

// Makes operations fail that failed in the capture, and did not here.
bool LetFail(const Node& node, const ReplayRun::NodeRun& run, Rules& rules) {
  const std::map<Index, coro::Duration> times = SeenTimes(node);
  bool changed = false;
  for (Index i = 0; i < node.operations.size(); ++i) {
    const Operation& operation = node.operations[i];
    if (!operation.status.has_value() || *operation.status == ErrorCode::kOk) continue;
    if (run.outcomes[i].status == operation.status || rules.Fails(i)) continue;
    if (run.outcomes[i].posted != ErrorCode::kOk) continue;
    const std::optional<Fault> fault = FaultFor(*operation.status, operation.kind);
    if (!fault.has_value()) continue;
    rules.Fail(i, *fault, std::max(coro::Duration{}, times.at(i) - operation.posted));
    changed = true;
  }
  return changed;
}

// ---- Verdicts ----

std::string NameOf(std::optional<ErrorCode> status) {
  if (!status.has_value()) return "none";
  if (*status == ErrorCode::kOk) return "ok";
  const std::string_view name = fabric::Name(*status);
  return std::string(name);
}

std::optional<ErrorCode> EndOf(const Outcome& outcome) {
  if (outcome.posted != ErrorCode::kOk && outcome.posted != ErrorCode::kAgain) {
    return outcome.posted;
  }
  return outcome.status;
}

void JudgeQueues(const Node& node, Index number, const ReplayRun::NodeRun& run, Steered& result) {
  const auto recorded = Recorded(node);
  const auto replayed = Replayed(node, run);
  for (Index queue = 0; queue < recorded.size(); ++queue) {
    QueueVerdict verdict{.node = number, .queue = queue, .completions = recorded[queue].size()};
    std::size_t at = 0;
    while (at < recorded[queue].size() && at < replayed[queue].size() &&
           recorded[queue][at] == replayed[queue][at].first) {
      ++at;
    }
    verdict.same_order = at == recorded[queue].size();
    verdict.first_difference = at + 1;
    if (verdict.completions > 0) result.queues.push_back(verdict);
  }
}

void Judge(const Capture& capture, Steered& result) {
  for (Index n = 0; n < capture.nodes.size(); ++n) {
    const Node& node = capture.nodes[n];
    const ReplayRun::NodeRun& run = result.run.nodes[n];
    JudgeQueues(node, n, run, result);
    for (Index r = 0; r < node.regions.size(); ++r) {
      result.regions.push_back({n, r, node.regions[r].digest, run.digests[r]});
    }
    for (Index i = 0; i < node.operations.size(); ++i) {
      const Operation& operation = node.operations[i];
      // An operation whose completion was not read before the end may have been under way.
      if (!operation.status.has_value()) continue;
      const std::string recorded = NameOf(operation.status);
      const std::string replayed = NameOf(EndOf(run.outcomes[i]));
      if (recorded != replayed) result.statuses.push_back({n, i, recorded, replayed});
    }
  }
}

}  // namespace

bool Steered::same_memory() const {
  bool compared = false;
  for (const RegionVerdict& region : regions) {
    if (!region.comparable()) continue;
    compared = true;
    if (!region.same()) return false;
  }
  return compared;
}

bool Steered::same_order() const {
  return std::all_of(queues.begin(), queues.end(),
                     [](const QueueVerdict& queue) { return queue.same_order; });
}

namespace {

class Steering {
 public:
  Steering(const Capture& capture, const SteerOptions& options)
      : capture_(capture),
        options_(options),
        replay_(options.replay),
        rules_(capture.nodes.begin(), capture.nodes.end()) {}

  absl::StatusOr<Steered> Run();

 private:
  // One replay with the rules so far.
  absl::Status Try();
  // Makes rules from the differences. Returns whether another replay may be better.
  bool Learn();
  void JudgeIt();

  const Capture& capture_;
  const SteerOptions& options_;
  ReplayOptions replay_;
  std::vector<Rules> rules_;
  std::size_t delayed_ = SIZE_MAX;  // after the last replay
  Steered result_;
};

absl::Status Steering::Try() {
  options_.attempt(++result_.attempts);
  replay_.plans.clear();
  for (const Rules& rules : rules_) replay_.plans.push_back(rules.Plan());
  ASSIGN_OR_RETURN(result_.run, Replay(capture_, replay_));
  result_.plans = replay_.plans;
  return absl::OkStatus();
}

bool Steering::Learn() {
  bool failing = false;
  std::size_t delayed = 0;
  for (Index n = 0; n < capture_.nodes.size(); ++n) {
    const ReplayRun::NodeRun& run = result_.run.nodes[n];
    rules_[n].Learn(run);
    failing = LetFail(capture_.nodes[n], run, rules_[n]) || failing;
    if (options_.keep_order) delayed += HoldBack(capture_.nodes[n], run, rules_[n]);
  }
  // Thousands that are under way together move each other: there, it stops when little is gained.
  const bool stuck = delayed >= kMany && delayed > delayed_ / 8 * 7;
  delayed_ = delayed;
  return failing || (delayed > 0 && !stuck);
}

void Steering::JudgeIt() {
  result_.held = result_.failed = 0;
  result_.queues.clear();
  result_.regions.clear();
  result_.statuses.clear();
  for (const FaultPlan& plan : result_.plans) {
    for (const FaultRule& rule : plan.rules) {
      ++(rule.fault == Fault::kDelayedCompletion ? result_.held : result_.failed);
    }
  }
  Judge(capture_, result_);
}

absl::StatusOr<Steered> Steering::Run() {
  do {
    RETURN_IF_ERROR(Try());
  } while (Learn() && result_.attempts < options_.attempts);
  JudgeIt();
  if (result_.failed == 0 || result_.same_memory()) return std::move(result_);
  // Of an operation that failed, all bytes may have landed as well as none.
  Steered without = result_;
  for (Rules& rules : rules_) rules.set_landed(true);
  RETURN_IF_ERROR(Try());
  JudgeIt();
  without.attempts = result_.attempts;
  return result_.same_memory() ? std::move(result_) : std::move(without);
}

}  // namespace

absl::StatusOr<Steered> Steer(const Capture& capture, const SteerOptions& options) {
  return Steering(capture, options).Run();
}

}  // namespace drydock::sim::capture
