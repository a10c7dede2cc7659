// A progress engine that receives messages, and whose writes fail: their target has given its pages
// up, which is no surprise.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/fabric/error_data.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"messages", 4, 1, 64, "each answered by a write"},
};
constexpr std::size_t kBytes = 64;

class Engine {
 public:
  Engine(Machine& machine, Twin twin) : machine_(machine), twin_(twin) {}

  // A message has come: its place and its length are the function's locals.
  void Handle(std::uint64_t message) {
    const std::span<std::byte> bytes = machine_.Bytes(kBytes * message, kBytes);
    stack_ = {bytes.data(), bytes.size()};
  }

  // The provider's words. The record lies on the stack, where the locals of Handle were.
  std::string WhyFailed(const fabric::Completion& completion) {
    fabric::ErrorData record = stack_;          // WRONG: not zeroed
    if (twin_ == Twin::kRepaired) record = {};  // REPAIRED
    machine_.rail().queue->power<fabric::ErrorDetails>()->ReadErrorData(completion, record);
    return {reinterpret_cast<const char*>(record.data), record.size_bytes};
  }

 private:
  Machine& machine_;
  const Twin twin_;
  fabric::ErrorData stack_;  // what the function before has left there
};

struct Arrived {
  std::uint64_t place;   // the receive
  std::uint64_t number;  // the peer's
};

absl::Status PostMessages(Pair& pair, std::uint64_t messages) {
  for (std::uint64_t i = 0; i < messages; ++i) {
    FillKeyed(pair.b->Bytes(kBytes * i, kBytes), i);
    const auto receive = pair.a->rail().endpoint->Recv(fabric::RecvRequest{
        .buffer = pair.a->rail().Local(kBytes * i, kBytes), .context = fabric::Context{i}});
    const auto send = pair.b->rail().endpoint->Send(
        fabric::SendRequest{.buffer = pair.b->rail().Local(kBytes * i, kBytes),
                            .peer = pair.to_a,
                            .immediate = static_cast<std::uint32_t>(i)});
    if (receive != fabric::ErrorCode::kOk || send != fabric::ErrorCode::kOk) {
      return absl::InternalError("not posted");
    }
  }
  return absl::OkStatus();
}

Outcome Run(Trial& trial, Twin twin) {
  const std::uint64_t messages = trial.parameter("messages");
  const MachineOptions options;
  auto pair = OpenPair(trial, options, options);
  if (!pair.ok()) return Outcome::Of(pair.status());
  if (absl::Status posted = PostMessages(*pair, messages); !posted.ok()) return Outcome::Of(posted);
  Rail& rail = pair->a->rail();
  Engine engine(*pair->a, twin);
  std::vector<Arrived> arrived;
  std::vector<std::string> log;
  while (log.size() < messages) {
    const auto completion = rail.Read();
    if (!completion.has_value()) {
      while (pair->b->rail().Read().has_value()) {
      }
      if (!LetTimePass(trial)) break;
      continue;
    }
    if (completion->kind == fabric::OperationKind::kWrite) {
      log.push_back(engine.WhyFailed(*completion));
      continue;
    }
    const auto place = static_cast<std::uint64_t>(*completion->context);
    engine.Handle(place);
    const auto answer = rail.endpoint->Write(
        fabric::WriteRequest{.source = rail.Local(kBytes * messages, kBytes),
                             .target = pair->b->rail().Remote(options.memory_bytes),
                             .peer = pair->to_b,
                             .context = fabric::Context{arrived.size()}});
    if (answer != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
    arrived.push_back({place, completion->immediate.value_or(0)});
  }
  for (const Arrived& message : arrived) {
    if (!HoldsKeyed(pair->a->Bytes(kBytes * message.place, kBytes), message.number)) {
      return Outcome::WrongData(absl::StrCat("message ", message.number, " was written over"));
    }
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& ErrData() {
  static const Exhibit exhibit = {
      .name = "err-data",
      .project = "aws/aws-ofi-nccl",
      .origin = "pull request 854",
      .kind = "failures",
      .cause = "the record of a failure is not zeroed, and the provider writes where it points",
      .verdict = sim::explore::Verdict::kWrongData,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
