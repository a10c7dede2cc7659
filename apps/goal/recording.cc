#include "drydock/apps/goal/recording.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/operation.h"

namespace drydock::apps::goal {
namespace {

using fabric::OperationKind;
using sim::capture::Capture;
using sim::capture::Index;
using sim::capture::kNowhere;
using sim::capture::Node;
using sim::capture::Operation;
using sim::capture::Step;
using sim::capture::StepKind;

constexpr std::uint8_t kProgram = 0;  // the CPU of what a program does
constexpr std::uint8_t kDevice = 1;   // of what a NIC does by itself

// What a message becomes at most: of a read, what is computed before, and the request and its
// answer, each sent and received.
constexpr std::size_t kOpsOfMessage = 5;

// An operation that moves bytes, by its node and its number there.
struct Message {
  Index from = 0;
  Index to = 0;
  const Operation* operation = nullptr;
  std::uint32_t tag = 0;   // its own
  bool announced = false;  // the receiver's program reads a completion of it
};

// Messages that arrive at a receive queue, in the order in which they were posted.
using Arrivals = std::map<std::pair<Index, Index>, std::deque<const Message*>>;  // node, queue

class Converter {
 public:
  explicit Converter(const Capture& capture)
      : capture_(capture), builder_(static_cast<std::uint32_t>(capture.nodes.size())) {}

  absl::StatusOr<Recording> Convert() {
    if (capture_.nodes.size() > kMostRanks) {
      return absl::InvalidArgumentError(absl::StrCat("the traces are of ", capture_.nodes.size(),
                                                     " machines: at most ", kMostRanks));
    }
    RETURN_IF_ERROR(FindMessages());
    for (Index node = 0; node < capture_.nodes.size(); ++node) {
      builder_.BeginRank(static_cast<std::uint32_t>(node));
      RETURN_IF_ERROR(AddProgram(node));
      AddWhatNobodyWaitsFor(node);
      DD_CHECK(!builder_.EndRank().has_value(), "a program waits for what it did later");
    }
    return Recording{std::move(builder_).Build(), left_out_};
  }

 private:
  static std::uint8_t NicOf(const Node& node, const Operation& operation) {
    return static_cast<std::uint8_t>(node.endpoints[operation.endpoint].nic);
  }

  absl::Status FindMessages() {
    for (Index n = 0; n < capture_.nodes.size(); ++n) {
      const Node& node = capture_.nodes[n];
      if (node.nics.size() > UINT8_MAX) {
        return absl::InvalidArgumentError(
            absl::StrCat(node.name, " has ", node.nics.size(), " NICs"));
      }
      for (const Operation& operation : node.operations) {
        if (!operation.sends()) continue;
        const bool moved =
            operation.status.value_or(fabric::ErrorCode::kCanceled) == fabric::ErrorCode::kOk &&
            operation.kind != OperationKind::kAtomic && operation.peer != kNowhere &&
            node.peers[operation.peer].endpoint.found();
        if (!moved) {
          ++left_out_;
          continue;
        }
        Message message{
            .from = n, .to = node.peers[operation.peer].endpoint.node, .operation = &operation};
        message.announced =
            sim::capture::IsMessage(operation.kind) || operation.immediate.has_value();
        messages_.push_back(message);
      }
    }
    if (messages_.size() > kMostOps / kOpsOfMessage) {
      return absl::InvalidArgumentError("the traces have more operations than a schedule can");
    }
    std::stable_sort(messages_.begin(), messages_.end(), [](const Message& a, const Message& b) {
      return a.operation->posted < b.operation->posted;
    });
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      Message& message = messages_[i];
      message.tag = static_cast<std::uint32_t>(2 * i);
      by_operation_[message.operation] = &message;
      if (!message.announced) continue;
      const Node& from = capture_.nodes[message.from];
      const auto& at = from.peers[message.operation->peer].endpoint;
      arrivals_[{message.to, capture_.nodes[at.node].endpoints[at.index].receive_queue}].push_back(
          &message);
    }
    return absl::OkStatus();
  }

  // ---- One program ----

  absl::Status AddProgram(Index n) {
    const Node& node = capture_.nodes[n];
    frontier_.clear();
    posted_.clear();
    last_ = node.steps.empty() ? coro::Duration{} : node.steps.front().time;
    for (const Step& step : node.steps) {
      if (step.kind == StepKind::kPost) {
        AddPost(n, node.operations[step.index], step.time);
      } else if (step.kind == StepKind::kRead) {
        AddRead(n, node.seen[step.index]);
        last_ = step.time;
      }
    }
    return absl::OkStatus();
  }

  // What the program does next waits for all that it has waited for.
  OpIndex Compute(coro::Duration until) {
    const coro::Duration takes = std::max(until - last_, coro::Duration{});
    last_ = std::max(last_, until);
    if (takes == coro::Duration{} && frontier_.size() == 1) return frontier_.front();
    const OpIndex calc =
        builder_.Add({.amount = static_cast<std::uint64_t>(takes.count()), .cpu = kProgram});
    for (const OpIndex op : frontier_) builder_.Require(calc, op);
    frontier_ = {calc};
    return calc;
  }

  static Op Transfer(Kind kind, Index peer, std::uint64_t bytes, std::uint32_t tag,
                     std::uint8_t cpu, std::uint8_t nic) {
    return {.amount = bytes,
            .peer = static_cast<std::uint32_t>(peer),
            .tag = tag,
            .kind = kind,
            .cpu = cpu,
            .nic = nic};
  }

  void AddPost(Index n, const Operation& operation, coro::Duration time) {
    const auto found = by_operation_.find(&operation);
    if (found == by_operation_.end()) return;
    const Message& message = *found->second;
    const OpIndex computed = Compute(time);
    const std::uint8_t nic = NicOf(capture_.nodes[n], operation);
    const bool read = operation.kind == OperationKind::kRead;
    const OpIndex send = builder_.Add(
        Transfer(Kind::kSend, message.to, read ? 0 : operation.bytes, message.tag, kProgram, nic));
    builder_.Require(send, computed);
    posted_[&operation] = send;
    if (!read) return;
    const OpIndex answer = builder_.Add(
        Transfer(Kind::kReceive, message.to, operation.bytes, message.tag + 1, kProgram, nic));
    builder_.Require(answer, send, /*begins=*/true);
    posted_[&operation] = answer;
  }

  // The program has read a completion: of its own, or of what came.
  void AddRead(Index n, const sim::capture::Seen& seen) {
    if (seen.status != fabric::ErrorCode::kOk) return;
    const Node& node = capture_.nodes[n];
    const Operation* operation =
        seen.operation == kNowhere ? nullptr : &node.operations[seen.operation];
    if (operation != nullptr && operation->sends()) {
      const auto posted = posted_.find(operation);
      if (posted != posted_.end()) frontier_.push_back(posted->second);
      return;
    }
    // A receive takes a message, and else a write's immediate; what has no receive is an immediate.
    std::deque<const Message*>& arrivals = arrivals_[{n, seen.queue}];
    const bool receive = operation != nullptr;
    auto arrival =
        std::find_if(arrivals.begin(), arrivals.end(), [receive](const Message* message) {
          return sim::capture::IsMessage(message->operation->kind) == receive;
        });
    if (arrival == arrivals.end() && receive) arrival = arrivals.begin();
    if (arrival == arrivals.end()) return;
    frontier_.push_back(AddArrival(**arrival));
    arrivals.erase(arrival);
  }

  OpIndex AddArrival(const Message& message) {
    const Node& from = capture_.nodes[message.from];
    return builder_.Add(Transfer(Kind::kReceive, message.from, message.operation->bytes,
                                 message.tag, kProgram, NicOf(from, *message.operation)));
  }

  // Writes that the target's program is not told of, messages that it did not read, and reads,
  // which a NIC answers.
  void AddWhatNobodyWaitsFor(Index n) {
    for (auto& [at, arrivals] : arrivals_) {
      if (at.first != n) continue;
      for (const Message* message : arrivals) AddArrival(*message);
      arrivals.clear();
    }
    for (const Message& message : messages_) {
      if (message.to != n || message.announced) continue;
      const bool read = message.operation->kind == OperationKind::kRead;
      const std::uint8_t nic = NicOf(capture_.nodes[message.from], *message.operation);
      const OpIndex arrival =
          builder_.Add(Transfer(Kind::kReceive, message.from, read ? 0 : message.operation->bytes,
                                message.tag, kDevice, nic));
      if (!read) continue;
      const OpIndex answer = builder_.Add(Transfer(
          Kind::kSend, message.from, message.operation->bytes, message.tag + 1, kDevice, nic));
      builder_.Require(answer, arrival);
    }
  }

  const Capture& capture_;
  ScheduleBuilder builder_;
  std::vector<Message> messages_;
  std::map<const Operation*, const Message*> by_operation_;
  Arrivals arrivals_;
  std::uint64_t left_out_ = 0;
  // Of the program that is being added:
  std::vector<OpIndex> frontier_;  // what its next step waits for
  std::map<const Operation*, OpIndex> posted_;
  coro::Duration last_{};
};

}  // namespace

absl::StatusOr<Recording> ScheduleOf(const Capture& capture) {
  return Converter(capture).Convert();
}

}  // namespace drydock::apps::goal
