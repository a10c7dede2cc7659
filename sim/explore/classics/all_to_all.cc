#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coro/status_macros.h"
#include "coro/when_all.h"
#include "fabric/async/immediate_counter.h"
#include "sim/coverage/coverage.h"
#include "sim/explore/classics/classics.h"
#include "sim/explore/classics/program.h"

namespace sim::explore {
namespace {

using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using fabric::async::ImmediateCounter;

constexpr std::size_t kMembers = 4;
constexpr std::size_t kBytes = 10000;  // of a block: more than a packet, and no multiple of one
constexpr std::uint32_t kBlock = 0x300;

struct Member {
  Machine* machine = nullptr;
  BufferRef out;  // a block for each machine
  BufferRef in;   // a block of each machine
  std::unique_ptr<ImmediateCounter> arrived;
};
using Members = std::array<Member, kMembers>;

constexpr std::uint64_t ContentOf(std::size_t from, std::size_t to) { return from * kMembers + to; }

coro::Task<absl::Status> WriteBlock(Members& members, std::size_t from, std::size_t to) {
  Member& member = members[from];
  const BufferSlice block(member.out, to * kBytes, kBytes);
  fabric::RemoteBuffer target = members[to].in->region().remote();
  target.address += from * kBytes;
  fabric::async::OperationOptions options;
  options.immediate = kBlock;
  options.deadline = GiveUpTime();
  const fabric::Completion written =
      co_await member.machine->endpoint().Write(block, target, member.machine->peer(to), options);
  coverage::Sometimes("all-to-all: all blocks are here before one's own are written",
                      member.arrived->count() == kMembers - 1);
  co_return member.machine->endpoint().ToStatus(
      written, absl::StrCat("machine ", from, " writes to machine ", to));
}

coro::Task<absl::Status> ReceiveBlocks(Members& members, std::size_t self, Truth& truth) {
  Member& member = members[self];
  const bool all = co_await member.arrived->Reached(kMembers - 1, GiveUpTime());
  if (!all) {
    co_return absl::DeadlineExceededError(absl::StrCat(
        member.arrived->count(), " of ", kMembers - 1, " blocks came to machine ", self));
  }
  for (std::size_t from = 0; from < kMembers; ++from) {
    if (from == self) continue;
    const auto block = member.in->bytes().subspan(from * kBytes, kBytes);
    if (!Holds(block, ContentOf(from, self))) {
      truth.Wrong(absl::StrCat("machine ", self, " took a wrong block of machine ", from));
    }
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> Exchange(Machines& machines, Truth& truth) {
  Members members;
  for (std::size_t i = 0; i < kMembers; ++i) {
    Member& member = members[i];
    member.machine = machines[i].get();
    CO_ASSIGN_OR_RETURN(member.out, machines[i]->Allocate(kMembers * kBytes));
    CO_ASSIGN_OR_RETURN(member.in, machines[i]->Allocate(kMembers * kBytes));
    member.arrived = std::make_unique<ImmediateCounter>(machines[i]->dispatcher(), kBlock);
    for (std::size_t to = 0; to < kMembers; ++to) {
      Fill(member.out->bytes().subspan(to * kBytes, kBytes), ContentOf(i, to));
    }
  }
  std::vector<coro::Task<absl::Status>> tasks;
  for (std::size_t i = 0; i < kMembers; ++i) {
    tasks.push_back(ReceiveBlocks(members, i, truth));
    for (std::size_t to = 0; to < kMembers; ++to) {
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
  Outcome Run(Trial& trial) const override { return RunProgram(trial, kMembers, &Exchange); }
};

}  // namespace

const Scenario& AllToAll() {
  static const AllToAllScenario scenario;
  return scenario;
}

}  // namespace sim::explore
