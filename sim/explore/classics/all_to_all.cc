#include <array>
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
    Parameter{"machines", 4, 2, 64, "that write to each other"},
    // Usually more than a packet, and no multiple of one.
    Parameter{"block_bytes", 10000, 8, 1 << 20, "bytes of a block"},
};
constexpr std::uint32_t kBlock = 0x300;

struct Member {
  fabric::async::Node* machine = nullptr;
  BufferRef out;  // a block for each machine
  BufferRef in;   // a block of each machine
  std::unique_ptr<ImmediateCounter> arrived;
};
struct Members : std::vector<Member> {
  using vector::vector;
  std::size_t block_bytes = 0;
};

constexpr std::uint64_t ContentOf(std::size_t from, std::size_t to) { return from << 32 | to; }

coro::Task<absl::Status> WriteBlock(Members& members, std::size_t from, std::size_t to) {
  Member& member = members[from];
  const BufferSlice block(member.out, to * members.block_bytes, members.block_bytes);
  const fabric::RemoteBuffer target = members[to].in->region().Remote(from * members.block_bytes);
  fabric::async::OperationOptions options;
  options.immediate = kBlock;
  options.deadline = GiveUpTime();
  const fabric::Completion written =
      co_await member.machine->endpoint().Write(block, target, member.machine->peer(to), options);
  fabric::coverage::Sometimes("all-to-all: all blocks are here before one's own are written",
                              member.arrived->count() == members.size() - 1);
  co_return member.machine->endpoint().ToStatus(
      written, absl::StrCat("machine ", from, " writes to machine ", to));
}

coro::Task<absl::Status> ReceiveBlocks(Members& members, std::size_t self, Truth& truth) {
  Member& member = members[self];
  const bool all = co_await member.arrived->Reached(members.size() - 1, GiveUpTime());
  if (!all) {
    co_return absl::DeadlineExceededError(absl::StrCat(
        member.arrived->count(), " of ", members.size() - 1, " blocks came to machine ", self));
  }
  for (std::size_t from = 0; from < members.size(); ++from) {
    if (from == self) continue;
    const auto block = member.in->bytes().subspan(from * members.block_bytes, members.block_bytes);
    if (!HoldsKeyed(block, ContentOf(from, self))) {
      truth.Wrong(absl::StrCat("machine ", self, " took a wrong block of machine ", from));
    }
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Exchange(Trial& trial, Nodes& machines, Truth& truth) {
  Members members(machines.size());
  const std::size_t bytes = members.block_bytes = trial.parameter("block_bytes");
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = members[i];
    member.machine = machines[i].get();
    CO_ASSIGN_OR_RETURN(member.out, machines[i]->Allocate(members.size() * bytes));
    CO_ASSIGN_OR_RETURN(member.in, machines[i]->Allocate(members.size() * bytes));
    member.arrived = std::make_unique<ImmediateCounter>(machines[i]->dispatcher(), kBlock);
    for (std::size_t to = 0; to < members.size(); ++to) {
      FillKeyed(member.out->bytes().subspan(to * bytes, bytes), ContentOf(i, to));
    }
  }
  std::vector<coro::Task<absl::Status>> tasks;
  for (std::size_t i = 0; i < members.size(); ++i) {
    tasks.push_back(ReceiveBlocks(members, i, truth));
    for (std::size_t to = 0; to < members.size(); ++to) {
      if (to != i) tasks.push_back(WriteBlock(members, i, to));
    }
  }
  const std::vector<absl::Status> ends = co_await coro::WhenAll(std::move(tasks));
  co_return FirstError(ends);
}

class AllToAllScenario final : public Scenario {
 public:
  std::string_view name() const override { return "all-to-all"; }
  std::string_view description() const override {
    return "four machines write a block to each other, all at once";
  }
  std::span<const Parameter> parameters() const override { return kParameters; }
  // A block to every machine, and one from each.
  std::optional<Needs> needs(const Parameters& parameters) const override {
    const std::uint64_t others = parameters.at("machines") - 1;
    return Needs{.registrations = 2, .address_handles = others, .completions = 2 * others};
  }
  Outcome Run(Trial& trial) const override {
    return RunProgram(trial, trial.parameter("machines"), &Exchange);
  }
};

}  // namespace

const Scenario& AllToAll() {
  static const AllToAllScenario scenario;
  return scenario;
}

}  // namespace drydock::sim::explore
