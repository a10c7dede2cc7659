// The dissemination barrier (Hensgen, Finkel, Manber 1988) with writes that announce themselves: in
// round r every machine tells the one 2^r places on, and waits for the one 2^r places back.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/coverage/points.h"
#include "drydock/sim/explore/classics/classics.h"
#include "drydock/sim/explore/classics/program.h"
#include "drydock/sim/explore/needs.h"

namespace drydock::sim::explore {
namespace {

using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using fabric::async::ImmediateCounter;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"machines", 4, 2, 64, "that meet"},
    Parameter{"meetings", 5, 1, 10000, "one after the other"},
};
constexpr std::size_t kFlagBytes = 8;

// Each step has an immediate of its own: writes of different steps overtake each other.
constexpr std::uint32_t ImmediateOf(std::size_t step) {
  return 0x100 + static_cast<std::uint32_t>(step);
}

struct Member {
  fabric::async::Node* machine = nullptr;
  BufferRef flags_out;  // one for each step: none is used twice
  BufferRef flags_in;
  std::vector<std::unique_ptr<ImmediateCounter>> told;  // index: step
};

struct Meeting {
  explicit Meeting(const Trial& trial)
      : epochs(trial.parameter("meetings")), members(trial.parameter("machines")) {
    while (std::size_t{1} << rounds < members.size()) ++rounds;
    entered.assign(members.size(), 0);
  }

  std::size_t steps() const { return epochs * rounds; }

  const std::size_t epochs;
  std::size_t rounds = 0;  // of an epoch: 2^rounds >= members
  std::vector<Member> members;
  std::vector<std::size_t> entered;  // epochs that each has come to
};

coro::Task<absl::Status> Tell(Meeting& meeting, std::size_t from, std::size_t to,
                              std::size_t step) {
  Member& member = meeting.members[from];
  const BufferSlice flag(member.flags_out, step * kFlagBytes, kFlagBytes);
  const fabric::RemoteBuffer target =
      meeting.members[to].flags_in->region().Remote(step * kFlagBytes);
  fabric::async::OperationOptions options;
  options.immediate = ImmediateOf(step);
  options.deadline = GiveUpTime();
  const fabric::Completion told =
      co_await member.machine->endpoint().Write(flag, target, member.machine->peer(to), options);
  co_return member.machine->endpoint().ToStatus(
      told, absl::StrCat("machine ", from, " tells machine ", to, " in step ", step));
}

coro::Task<absl::Status> Enter(Meeting& meeting, std::size_t self, std::size_t epoch) {
  meeting.entered[self] = epoch + 1;
  for (std::size_t round = 0; round < meeting.rounds; ++round) {
    const std::size_t step = epoch * meeting.rounds + round;
    const std::size_t next = (self + (std::size_t{1} << round)) % meeting.members.size();
    CO_RETURN_IF_ERROR(co_await Tell(meeting, self, next, step));
    fabric::coverage::Sometimes("barrier: told before it asks",
                                meeting.members[self].told[step]->count() > 0);
    const bool told = co_await meeting.members[self].told[step]->Reached(1, GiveUpTime());
    if (!told) {
      co_return absl::DeadlineExceededError(
          absl::StrCat("machine ", self, " was told nothing in step ", step));
    }
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Attend(Meeting& meeting, std::size_t self, Truth& truth) {
  for (std::size_t epoch = 0; epoch < meeting.epochs; ++epoch) {
    CO_RETURN_IF_ERROR(co_await Enter(meeting, self, epoch));
    for (std::size_t other = 0; other < meeting.members.size(); ++other) {
      if (meeting.entered[other] > epoch) continue;
      truth.Wrong(absl::StrCat("machine ", self, " left meeting ", epoch, " before machine ", other,
                               " had come"));
    }
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Meet(Trial& trial, Nodes& machines, Truth& truth) {
  Meeting meeting(trial);
  for (std::size_t i = 0; i < machines.size(); ++i) {
    Member& member = meeting.members[i];
    member.machine = machines[i].get();
    CO_ASSIGN_OR_RETURN(member.flags_out, machines[i]->Allocate(meeting.steps() * kFlagBytes));
    CO_ASSIGN_OR_RETURN(member.flags_in, machines[i]->Allocate(meeting.steps() * kFlagBytes));
    // Before any member tells anything: an immediate that no counter takes is lost.
    for (std::size_t step = 0; step < meeting.steps(); ++step) {
      member.told.push_back(
          std::make_unique<ImmediateCounter>(machines[i]->dispatcher(), ImmediateOf(step)));
    }
  }
  std::vector<coro::Task<absl::Status>> tasks;
  for (std::size_t i = 0; i < machines.size(); ++i) tasks.push_back(Attend(meeting, i, truth));
  const std::vector<absl::Status> ends = co_await coro::WhenAll(std::move(tasks));
  co_return FirstError(ends);
}

class BarrierScenario final : public Scenario {
 public:
  std::string_view name() const override { return "barrier"; }
  std::string_view description() const override {
    return "four machines meet five times; none goes on before all have come";
  }
  std::span<const Parameter> parameters() const override { return kParameters; }
  // No member is told more ahead of time than the rounds of this meeting and of the next one.
  std::optional<Needs> needs(const Parameters& parameters) const override {
    const std::uint64_t machines = parameters.at("machines");
    const auto rounds = static_cast<std::uint64_t>(std::bit_width(machines - 1));
    return Needs{
        .registrations = 2, .address_handles = machines - 1, .completions = 2 * rounds + 1};
  }
  Outcome Run(Trial& trial) const override {
    return RunProgram(trial, trial.parameter("machines"), &Meet);
  }
};

}  // namespace

const Scenario& Barrier() {
  static const BarrierScenario scenario;
  return scenario;
}

}  // namespace drydock::sim::explore
