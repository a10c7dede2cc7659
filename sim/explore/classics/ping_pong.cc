#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/async/message_receiver.h"
#include "drydock/fabric/coverage/points.h"
#include "drydock/sim/explore/classics/classics.h"
#include "drydock/sim/explore/classics/program.h"
#include "drydock/sim/explore/needs.h"

namespace drydock::sim::explore {
namespace {

using fabric::async::BufferRef;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"rounds", 8, 1, 100000, "messages in each direction"},
    Parameter{"message_bytes", 512, 8, 8192, "bytes of a message"},
};

struct Player {
  fabric::async::Node& machine;
  fabric::Peer other;
  BufferRef out;
  BufferRef in;
  std::uint64_t rounds;
  std::size_t bytes;  // of a message
};

// Messages are numbered; each side sends every second one.
coro::Task<absl::Status> SendNumber(Player& player, std::uint64_t number) {
  FillKeyed(player.out->bytes(), number);
  fabric::async::OperationOptions options;
  options.deadline = GiveUpTime();
  const fabric::Completion sent =
      co_await player.machine.endpoint().Send(player.out, player.other, options);
  if (!sent.ok()) fabric::coverage::Reachable("ping-pong: a message was not sent");
  co_return player.machine.endpoint().ToStatus(sent, absl::StrCat("send message ", number));
}

coro::Task<absl::Status> TakeNumber(fabric::async::MessageReceiver& receiver, std::uint64_t number,
                                    std::size_t bytes, Truth& truth) {
  CO_ASSIGN_OR_RETURN(const fabric::async::Message message, co_await receiver.Next(GiveUpTime()));
  if (message.bytes.size() != bytes || !HoldsKeyed(message.bytes, number)) {
    truth.Wrong(absl::StrCat("message ", number, " has other bytes than were sent"));
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Play(Player& player, bool begins, Truth& truth) {
  fabric::async::MessageReceiver receiver(player.machine.endpoint(), player.in, 2, player.bytes, 2);
  for (std::uint64_t number = 0; number < 2 * player.rounds; ++number) {
    const bool sends = (number % 2 == 0) == begins;
    if (sends) {
      CO_RETURN_IF_ERROR(co_await SendNumber(player, number));
    } else {
      CO_RETURN_IF_ERROR(co_await TakeNumber(receiver, number, player.bytes, truth));
    }
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Match(Trial& trial, Nodes& machines, Truth& truth) {
  const std::uint64_t rounds = trial.parameter("rounds");
  const std::size_t bytes = trial.parameter("message_bytes");
  fabric::async::Node& a = *machines[0];
  fabric::async::Node& b = *machines[1];
  CO_ASSIGN_OR_RETURN(BufferRef a_out, a.Allocate(bytes));
  CO_ASSIGN_OR_RETURN(BufferRef a_in, a.Allocate(2 * bytes));
  CO_ASSIGN_OR_RETURN(BufferRef b_out, b.Allocate(bytes));
  CO_ASSIGN_OR_RETURN(BufferRef b_in, b.Allocate(2 * bytes));
  Player first{a, a.peer(1), std::move(a_out), std::move(a_in), rounds, bytes};
  Player second{b, b.peer(0), std::move(b_out), std::move(b_in), rounds, bytes};
  std::vector<coro::Task<absl::Status>> sides;
  sides.push_back(Play(second, false, truth));
  sides.push_back(Play(first, true, truth));
  const std::vector<absl::Status> ends = co_await coro::WhenAll(std::move(sides));
  co_return FirstError(ends);
}

class PingPongScenario final : public Scenario {
 public:
  std::string_view name() const override { return "ping-pong"; }
  std::string_view description() const override {
    return "two machines send each other one message in turn";
  }
  std::span<const Parameter> parameters() const override { return kParameters; }
  // Its messages in flight: two receives, and a send.
  std::optional<Needs> needs(const Parameters&) const override {
    return Needs{.registrations = 2, .address_handles = 1, .completions = 3};
  }
  Outcome Run(Trial& trial) const override { return RunProgram(trial, 2, &Match); }
};

}  // namespace

const Scenario& PingPong() {
  static const PingPongScenario scenario;
  return scenario;
}

}  // namespace drydock::sim::explore
