// Random programs on three machines, and the rules that hold for every one of them:
//   1. Every accepted request with a context ends in exactly one completion, unless its endpoint
//   was closed or its machine died.
//   2. Memory outside of the ranges that were granted never changes.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/sim/random.h"
#include "drydock/sim/testing/lab.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::Access;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;

constexpr std::uint64_t kSeeds = 300;
constexpr int kSteps = 150;

// The memory of each machine: slots of a few pages, with a page between them that is in no slot.
constexpr std::size_t kSlots = 8;
constexpr std::size_t kSlotBytes = 20480;
constexpr std::size_t kGap = 4096;
constexpr std::size_t kFirst = 4096;
constexpr std::size_t SlotAt(std::size_t slot) { return kFirst + slot * (kSlotBytes + kGap); }
static_assert(SlotAt(kSlots) <= Side::kBytes);
constexpr std::byte kRed{0xa5};

// One machine as its program sees it.
struct Machine {
  Side* side = nullptr;
  std::vector<std::unique_ptr<fabric::MemoryRegion>> regions{kSlots};  // null: closed
  bool alive = true;
  // Context to kind, of everything that was accepted and has not ended.
  std::map<std::uint64_t, OperationKind> pending;
  std::set<std::uint64_t> ended;
};

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed)
      : choices_(seed, sim::Subsystem::kDriver, 1, 1), lab_(seed, Rough(seed)) {
    for (std::size_t i = 0; i < 3; ++i) {
      SideOptions options;
      if (Choose(4) == 0) options.receives_take_immediates = true;
      if (Choose(3) == 0) options.retries = static_cast<std::uint32_t>(Choose(8));
      if (Choose(4) == 0) options.inject_bytes = 80;
      machines_[i].side = &lab_.Add(absl::StrCat("machine ", i), options);
      std::fill(Memory(i).begin(), Memory(i).end(), kRed);
      for (std::size_t slot = 0; slot < kSlots; ++slot) Register(machines_[i], slot);
    }
    // It posts any request to any object.
    lab_.AllowFindings(sim::Check::kUseAfterDeregister);
    lab_.AllowFindings(sim::Check::kBufferRace);
    lab_.AllowFindings(sim::Check::kLocalRights);
    for (Machine& machine : machines_) {
      for (Machine& other : machines_) machine.side->Insert(*other.side);
    }
  }

  void Run() {
    for (int step = 0; step < kSteps; ++step) {
      Machine& machine = machines_[Choose(3)];
      switch (Choose(24)) {
        case 0:
          ToggleRegion(machine);
          break;
        case 1:
          TogglePeer(machine);
          break;
        case 2:
          if (Choose(8) == 0) Break(machine);
          break;
        case 3:
          if (Choose(3) == 0) Reopen(machine);
          break;
        default:
          Post(machine);
      }
      if (Choose(3) == 0) lab_.world().timeline().RunFor(coro::Duration(Choose(30000)));
      if (Choose(4) == 0) Read();
    }
    Finish();
  }

 private:
  static sim::Profile Rough(std::uint64_t seed) {
    sim::Profile profile = Small();
    profile.duplicate_one_in = seed % 3 == 0 ? 2 : 16;
    profile.retransmit_one_in = 16;
    profile.split_placement_one_in = 2;
    profile.split_placement_delay = 20us;  // so that things go in the middle of a packet
    profile.unreachable_timeout = profile.unresponsive_timeout = 20ms;
    return profile;
  }

  std::uint64_t Choose(std::uint64_t below) { return choices_.NextBelow(below); }
  std::span<std::byte> Memory(std::size_t machine) { return machines_[machine].side->memory(); }

  void Register(Machine& machine, std::size_t slot) {
    // Not all rights everywhere.
    Register(machine, slot, Choose(4) == 0 ? static_cast<Access>(Choose(64)) : Access::kAll);
  }
  static void Register(Machine& machine, std::size_t slot, Access access) {
    machine.regions[slot] = machine.side->Register(SlotAt(slot), kSlotBytes, access);
  }

  void ToggleRegion(Machine& machine) {
    const std::size_t slot = Choose(kSlots);
    if (machine.regions[slot] == nullptr) return Register(machine, slot);
    machine.regions[slot].reset();
  }

  void TogglePeer(Machine& machine) {
    const Side& other = *machines_[Choose(3)].side;
    const auto known = machine.side->known.find(&other);
    if (known != machine.side->known.end()) {
      ASSERT_TRUE(machine.side->peers->Remove(known->second).ok());
      machine.side->known.erase(known);
    } else {
      machine.side->Insert(other);
    }
  }

  void Break(Machine& machine) {
    switch (Choose(4)) {
      case 0:
        machine.side->node.Kill();
        machine.alive = false;
        break;
      case 1:
        machine.side->node.Reset();
        break;
      case 2:
        lab_.world().Block(machine.side->node, machines_[Choose(3)].side->node);
        break;
      default:
        machine.side->nic.set_answers_nonsense(Choose(2) == 0);
    }
  }

  // Another endpoint in place of the first: the old one's pending requests are over.
  void Reopen(Machine& machine) {
    Read();
    ASSERT_TRUE(machine.side->endpoint->Close().ok());
    machine.pending.clear();
    machine.side->endpoint = Must(machine.side->domain->OpenEndpoint(machine.side->Parts()));
    for (Machine& other : machines_) {
      if (other.side->known.count(machine.side) == 1) other.side->Insert(*machine.side);
    }
  }

  // Some range of a slot, or, now and then, of the bytes around it.
  fabric::LocalBuffer LocalRange(Machine& machine, std::size_t length) {
    const std::size_t slot = Choose(kSlots);
    fabric::LocalBuffer buffer =
        machine.side->Local(SlotAt(slot) + Choose(kSlotBytes - length + 1), length);
    buffer.local_key =
        machine.regions[slot] == nullptr ? 12345 : machine.regions[slot]->local_key();
    if (Choose(20) == 0) buffer.data = machine.side->memory().data() + SlotAt(slot) - 100;
    return buffer;
  }
  fabric::RemoteBuffer RemoteRange(Machine& machine, std::size_t length) {
    const std::size_t slot = Choose(kSlots);
    fabric::RemoteBuffer remote =
        machine.side->Remote(SlotAt(slot) + Choose(kSlotBytes - length + 1));
    remote.key = machine.regions[slot] == nullptr ? 12345 : machine.regions[slot]->remote().key;
    if (Choose(20) == 0) remote.address -= kSlotBytes;
    if (Choose(30) == 0) remote.address = choices_.Next();
    return remote;
  }

  void Post(Machine& machine) {
    Side& side = *machine.side;
    const std::uint64_t context = Choose(6) == 0 ? 0 : ++last_context_;
    std::size_t length = Choose(3) == 0 ? Choose(kSlotBytes + 1) : Choose(200);
    const Machine& target = machines_[Choose(3)];
    const auto known = side.known.find(target.side);
    const fabric::Peer peer = known == side.known.end() ? fabric::kNoPeer : known->second;
    ErrorCode error = ErrorCode::kOk;
    OperationKind kind = OperationKind::kWrite;
    switch (Choose(7)) {
      case 0:
      case 1:
        kind = OperationKind::kReceive;
        error = side.endpoint->Recv(fabric::RecvRequest{
            .buffer = LocalRange(machine, std::min<std::size_t>(length + 100, 9000)),
            .context = ContextOf(context)});
        break;
      case 2:
      case 3: {
        kind = OperationKind::kSend;
        length = std::min<std::size_t>(length, 9000);
        fabric::SendRequest send{.buffer = LocalRange(machine, length), .peer = peer};
        send.context = ContextOf(context);
        send.inject = Choose(4) == 0;
        if (Choose(2) == 0) send.immediate = static_cast<std::uint32_t>(Choose(100));
        error = side.endpoint->Send(send);
        break;
      }
      case 4:
        kind = OperationKind::kRead;
        error = side.endpoint->Read(
            fabric::ReadRequest{.target = LocalRange(machine, length),
                                .source = RemoteRange(machines_[Choose(3)], length),
                                .peer = peer,
                                .context = ContextOf(context)});
        break;
      default: {
        fabric::WriteRequest write{.source = LocalRange(machine, length),
                                   .target = RemoteRange(machines_[Choose(3)], length),
                                   .peer = peer};
        write.context = ContextOf(context);
        write.inject = Choose(8) == 0;
        if (Choose(2) == 0) write.immediate = static_cast<std::uint32_t>(Choose(100));
        error = side.endpoint->Write(write);
      }
    }
    if (error == ErrorCode::kOk && context != 0) machine.pending[context] = kind;
    const std::set<ErrorCode> possible = {ErrorCode::kOk, ErrorCode::kAgain,
                                          ErrorCode::kUnknownPeer, ErrorCode::kMessageTooLong,
                                          ErrorCode::kUnsupported};
    EXPECT_EQ(possible.count(error), 1u) << fabric::Name(error);
  }

  void Read() {
    lab_.Pump();
    for (Machine& machine : machines_) {
      for (const Completion& completion : machine.side->completions) Ended(machine, completion);
      machine.side->completions.clear();
    }
  }

  void Ended(Machine& machine, const Completion& completion) {
    const std::uint64_t context = NumberOf(completion);
    EXPECT_EQ(completion.ok(), completion.provider_error == 0);
    EXPECT_EQ(completion.error,
              fabric::FromEfaStatus(static_cast<std::uint8_t>(completion.provider_error)));
    if (context == 0) {  // the failure of an unsignalled one, or an unsolicited immediate
      EXPECT_TRUE(!completion.ok() || completion.kind == OperationKind::kRemoteWrite);
      return;
    }
    EXPECT_TRUE(machine.ended.insert(context).second) << "context " << context << " ended twice";
    const auto found = machine.pending.find(context);
    ASSERT_NE(found, machine.pending.end()) << "context " << context << " was not pending";
    const bool as_posted =
        completion.kind == found->second || (completion.kind == OperationKind::kRemoteWrite &&
                                             found->second == OperationKind::kReceive);
    EXPECT_TRUE(as_posted) << fabric::Name(completion.kind);
    machine.pending.erase(found);
  }

  void RunAndRead(coro::Duration duration) {
    lab_.Until(
        [&] {
          Read();
          return false;
        },
        duration);
  }

  // Everything ends that can.
  void Finish() {
    RunAndRead(100ms);  // longer than the timeouts
    // Every operation that waits for a receive gets one.
    for (Machine& machine : machines_) Register(machine, 0, Access::kAll);
    for (int round = 0; round < 4; ++round) {
      for (Machine& machine : machines_) {
        const fabric::LocalBuffer all = machine.regions[0]->Local(0, 9000);
        while (machine.side->endpoint->Recv(fabric::RecvRequest{.buffer = all}) == ErrorCode::kOk) {
        }
      }
      RunAndRead(30ms);
    }
    ExpectEnded(true);
    // Receives that are left over end with their queue pair.
    for (Machine& machine : machines_) machine.side->node.Reset();
    RunAndRead(30ms);
    ExpectEnded(false);
    ExpectRedZones();
  }

  void ExpectEnded(bool except_receives) {
    for (std::size_t i = 0; i < 3; ++i) {
      const Machine& machine = machines_[i];
      EXPECT_EQ(machine.side->nic.counters().completions_lost, 0u);
      if (!machine.alive) continue;
      for (const auto& [context, kind] : machine.pending) {
        if (except_receives && kind == OperationKind::kReceive) continue;
        ADD_FAILURE() << "machine " << i << ": " << fabric::Name(kind) << ", context " << context
                      << ", has not ended";
      }
    }
  }

  void ExpectRedZones() {
    for (std::size_t i = 0; i < 3; ++i) {
      std::size_t begin = 0;
      for (std::size_t slot = 0; slot <= kSlots; ++slot) {
        const std::size_t end = slot == kSlots ? Side::kBytes : SlotAt(slot);
        for (std::size_t at = begin; at < end; ++at) {
          ASSERT_EQ(Memory(i)[at], kRed) << "machine " << i << ", byte " << at;
        }
        begin = end + kSlotBytes;
      }
    }
  }

  sim::RandomStream choices_;
  Lab lab_;
  std::array<Machine, 3> machines_;
  std::uint64_t last_context_ = 0;
};

class RandomOperationsTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomOperationsTest, EveryRequestEndsOnceAndRedZonesStayRed) {
  constexpr std::uint64_t kParts = 10;
  for (std::uint64_t seed = GetParam(); seed <= kSeeds; seed += kParts) {
    RandomProgram(seed).Run();
    if (HasFailure()) {
      std::cout << "replay: seed " << seed << "\n";
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomOperationsTest, ::testing::Range<std::uint64_t>(1, 11));

}  // namespace
}  // namespace drydock::sim_testing
