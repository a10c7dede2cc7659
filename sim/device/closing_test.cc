// Work under way when an object that it needs goes: at every microsecond of its life, each
// operation has exactly one completion, unless its own endpoint was closed, and nothing lands after
// that.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/sim/testing/lab.h"
#include "drydock/sim/testing/scene.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::Access;
using fabric::Completion;
using fabric::ErrorCode;
using fabric::OperationKind;

constexpr std::uint64_t kMoments = 64;  // microseconds after the posts, each with a seed of its own

constexpr std::uint64_t kEach = 5;      // operations of each kind
constexpr std::uint64_t kWrites = 100;  // contexts
constexpr std::uint64_t kReads = 200;
constexpr std::uint64_t kSends = 300;
constexpr std::uint64_t kReceives = 400;

constexpr std::size_t kPiece = 12000;  // bytes of a read or write: two packets
constexpr std::size_t kMessage = 3000;

// Where operation `i` of a kind has its bytes, in both memories.
std::size_t At(std::uint64_t kind, std::uint64_t i) {
  const std::size_t slot = 16384;
  return (kind / 100 - 1) * kEach * slot + i * slot;
}
constexpr std::size_t kInUse = 3 * kEach * 16384;
static_assert(kInUse + 16384 <= Side::kBytes);

// Regions that go before everything else does.
struct Regions {
  std::unique_ptr<fabric::MemoryRegion> a;
  std::unique_ptr<fabric::MemoryRegion> b;
};

// The peers, with work of every kind under way between them.
struct BusyScene : Scene {
  explicit BusyScene(std::uint64_t seed) : Scene(Small(), {}, seed) {
    lab.AllowFindings(sim::Check::kUseAfterDeregister);  // regions close with work under way
    regions.a = a.Register(0, kInUse, Access::kAll);
    regions.b = b.Register(0, kInUse, Access::kAll);
    for (std::uint64_t i = 0; i < kEach; ++i) {
      Fill(a.Bytes(At(kWrites, i), kPiece), kWrites + i);
      Fill(b.Bytes(At(kReads, i), kPiece), kReads + i);
      Fill(a.Bytes(At(kSends, i), kMessage), kSends + i);
    }
    for (std::uint64_t i = 0; i < kEach; ++i) Post(i);
  }

  void Post(std::uint64_t i) {
    fabric::RecvRequest receive = b.RecvAt(0, 0, kReceives + i);
    receive.buffer = regions.b->Local(At(kSends, i), kMessage);
    EXPECT_EQ(b.endpoint->Recv(receive), ErrorCode::kOk);
    fabric::WriteRequest write = a.WriteTo(b, 0, 0, kWrites + i);
    write.source = regions.a->Local(At(kWrites, i), kPiece);
    write.target = {regions.b->remote().address + At(kWrites, i), regions.b->remote().key};
    write.immediate = static_cast<std::uint32_t>(i);
    EXPECT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
    fabric::ReadRequest read = a.ReadFrom(b, 0, 0, kReads + i);
    read.target = regions.a->Local(At(kReads, i), kPiece);
    read.source = {regions.b->remote().address + At(kReads, i), regions.b->remote().key};
    EXPECT_EQ(a.endpoint->Read(read), ErrorCode::kOk);
    fabric::SendRequest send = a.SendTo(b, 0, 0, kSends + i);
    send.buffer = regions.a->Local(At(kSends, i), kMessage);
    send.immediate = static_cast<std::uint32_t>(kSends + i);
    EXPECT_EQ(a.endpoint->Send(send), ErrorCode::kOk);
  }

  // The completions at the target are true.
  void ExpectTruthAtTheTarget() {
    std::set<std::uint64_t> told;
    for (const Completion& completion : b.completions) {
      if (completion.kind == OperationKind::kRemoteWrite) {
        EXPECT_TRUE(told.insert(kWrites + *completion.immediate).second) << "an immediate twice";
        EXPECT_TRUE(Holds(b.Bytes(At(kWrites, *completion.immediate), kPiece),
                          kWrites + *completion.immediate));
        continue;
      }
      EXPECT_TRUE(told.insert(NumberOf(completion)).second) << "a receive twice";
      if (!completion.ok()) continue;
      EXPECT_TRUE(Holds(b.Bytes(At(kSends, NumberOf(completion) - kReceives), kMessage),
                        *completion.immediate));
    }
  }

  Regions regions;
};

struct Ending {
  std::string name;
  std::function<void(BusyScene&)> action;
  std::set<std::int32_t> statuses;  // beside 0
};
void PrintTo(const Ending& ending, std::ostream* os) { *os << ending.name; }

class EndingTest : public ::testing::TestWithParam<Ending> {};

TEST_P(EndingTest, EachOperationEndsOnceAndNothingLandsAfterwards) {
  std::set<std::int32_t> seen;
  for (std::uint64_t moment = 1; moment <= kMoments; ++moment) {
    BusyScene s(moment);
    s.lab.world().timeline().RunFor(moment * 1us);
    GetParam().action(s);
    std::map<std::uint64_t, int> ends;
    s.lab.Until([&] {
      for (const Completion& completion : s.a.completions) {
        const std::uint64_t context = NumberOf(completion);
        ++ends[context];
        const std::int32_t status = completion.provider_error;
        EXPECT_TRUE(status == 0 || GetParam().statuses.count(status) == 1)
            << "context " << context << ", status " << status;
        seen.insert(status);
        const std::uint64_t i = context % 100;
        if (status == 0 && context / 100 == 1) {
          EXPECT_TRUE(Holds(s.b.Bytes(At(kWrites, i), kPiece), context));
        }
        if (status == 0 && context / 100 == 2) {
          EXPECT_TRUE(Holds(s.a.Bytes(At(kReads, i), kPiece), context));
        }
      }
      s.a.completions.clear();
      return ends.size() == 3 * kEach;
    });
    EXPECT_EQ(ends.size(), 3 * kEach) << "lost, at " << moment << " us";
    const std::uint64_t initiator = Checksum(s.a.Bytes(0, At(kSends, 0)));
    const std::uint64_t target = Checksum(s.b.Bytes(0, At(kSends, 0)));
    s.lab.Watch(5s);
    EXPECT_TRUE(s.a.completions.empty()) << "too many, at " << moment << " us";
    for (const auto& [context, count] : ends) EXPECT_EQ(count, 1) << "context " << context;
    EXPECT_EQ(Checksum(s.a.Bytes(0, At(kSends, 0))), initiator) << "at " << moment << " us";
    EXPECT_EQ(Checksum(s.b.Bytes(0, At(kSends, 0))), target) << "at " << moment << " us";
    s.ExpectTruthAtTheTarget();
    s.b.completions.clear();
    s.ExpectTheOthersUnharmed();
  }
  // The moments were well chosen: everything that can happen did.
  for (const std::int32_t status : GetParam().statuses) EXPECT_EQ(seen.count(status), 1u) << status;
  EXPECT_EQ(seen.count(0), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    InFlight, EndingTest,
    ::testing::Values(
        Ending{"LocalRegion", [](BusyScene& s) { s.regions.a->Close().IgnoreError(); }, {5}},
        Ending{"RemoteRegion", [](BusyScene& s) { s.regions.b->Close().IgnoreError(); }, {7}},
        Ending{"TargetEndpoint", [](BusyScene& s) { s.b.endpoint->Close().IgnoreError(); }, {9}},
        Ending{"AddressHandle",
               [](BusyScene& s) { s.a.peers->Remove(s.a.PeerOf(s.b)).IgnoreError(); },
               {1}},
        Ending{"AddressHandleAtTheTarget",
               [](BusyScene& s) { s.b.peers->Remove(s.b.PeerOf(s.a)).IgnoreError(); },
               {14}},
        Ending{"TargetReset", [](BusyScene& s) { s.b.node.Reset(); }, {8}},
        Ending{"TargetDeath", [](BusyScene& s) { s.b.node.Kill(); }, {13, 15}},
        // Some packets are on their way already, and are answered.
        Ending{"WayThere", [](BusyScene& s) { s.lab.world().Block(s.a.node, s.b.node); }, {13}},
        Ending{"WayBack", [](BusyScene& s) { s.lab.world().Block(s.b.node, s.a.node); }, {13, 15}}),
    [](const auto& test) { return test.param.name; });

// Memory of a closed endpoint is the program's again at once.
TEST(ClosingTest, OwnEndpointEndsInSilenceAndNothingLandsAfterwards) {
  for (std::uint64_t moment = 1; moment <= kMoments; ++moment) {
    BusyScene s(moment);
    s.lab.world().timeline().RunFor(moment * 1us);
    ASSERT_TRUE(s.a.endpoint->Close().ok());
    const std::uint64_t initiator = Checksum(s.a.Bytes(0, At(kSends, 0)));
    const std::uint64_t target = Checksum(s.b.Bytes(0, At(kSends, 0)));
    s.a.completions.clear();
    s.lab.Watch(5s);
    EXPECT_TRUE(s.a.completions.empty()) << "at " << moment << " us";
    EXPECT_EQ(Checksum(s.a.Bytes(0, At(kSends, 0))), initiator) << "at " << moment << " us";
    EXPECT_EQ(Checksum(s.b.Bytes(0, At(kSends, 0))), target) << "at " << moment << " us";
    s.ExpectTruthAtTheTarget();
    EXPECT_EQ(s.a.endpoint->Write(fabric::WriteRequest{}), ErrorCode::kClosed);
    EXPECT_EQ(s.a.endpoint->Recv(fabric::RecvRequest{}), ErrorCode::kClosed);
    EXPECT_TRUE(s.a.endpoint->Close().ok());
  }
}

// A reset flushes the restarted device's own work, receives included.
TEST(ClosingTest, OwnResetFlushesEverything) {
  for (std::uint64_t moment = 1; moment <= kMoments; ++moment) {
    BusyScene s(moment);
    ASSERT_EQ(s.a.endpoint->Recv(s.a.RecvAt(kInUse, 4096, 1)), ErrorCode::kOk);
    s.lab.world().timeline().RunFor(moment * 1us);
    s.a.node.Reset();
    EXPECT_EQ(s.lab.Take(s.a, 1).provider_error, 1);
    for (const std::uint64_t kind : {kWrites, kReads, kSends}) {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const std::int32_t status = s.lab.Take(s.a, kind + i).provider_error;
        EXPECT_TRUE(status == 0 || status == 1) << status;
      }
    }
    s.b.completions.clear();
    s.lab.Watch(5s);
    EXPECT_TRUE(s.a.completions.empty());
    // For its peers it has another face.
    ASSERT_EQ(s.b.endpoint->Send(s.b.SendTo(s.a, 0, 100, 2)), ErrorCode::kOk);
    EXPECT_EQ(s.lab.Take(s.b, 2).provider_error, 9);
  }
}

// So it does what is posted afterwards.
TEST(ClosingTest, WhatARestartedDeviceGetsIsFlushed) {
  Scene s;
  s.a.node.Reset();
  ASSERT_EQ(s.a.endpoint->Recv(s.a.RecvAt(0, 4096, 1)), ErrorCode::kOk);
  EXPECT_EQ(s.lab.Take(s.a, 1).provider_error, 1);
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 100, 2)), ErrorCode::kOk);
  EXPECT_EQ(s.lab.Take(s.a, 2).provider_error, 1);
}

TEST(ClosingTest, DeadDeviceDoesNotRestart) {
  Scene s;
  ASSERT_EQ(s.a.endpoint->Recv(s.a.RecvAt(0, 64, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.b.endpoint->Write(s.b.WriteTo(s.a, 0, 64, 2)), ErrorCode::kOk);
  s.a.node.Kill();
  s.a.node.Reset();
  EXPECT_EQ(s.lab.Take(s.b, 2).provider_error, 15);  // silence, and no word of a restart
  EXPECT_TRUE(s.a.completions.empty());
}

// The target has refused it, and the refusal was lost: nobody waits for that any more.
TEST(ClosingTest, OwnResetFlushesWhatWasAnsweredInVain) {
  Scene s;
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 100, 1);
  write.target.key ^= 1;
  s.lab.world().Block(s.b.node, s.a.node);
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  s.lab.world().timeline().RunFor(100us);
  s.a.node.Reset();
  const coro::Time reset = s.lab.world().Now();
  EXPECT_EQ(s.lab.Take(s.a, 1).provider_error, 1);
  EXPECT_LT(s.lab.world().Now() - reset, 1ms);
}

// Two vectors of one domain that have the same machine share an address handle of the device.
TEST(ClosingTest, AddressHandleLivesUntilItsLastVectorForgetsIt) {
  Scene s;
  auto vector = Must(s.a.domain->OpenAddressVector());
  Must(vector->Insert(s.b.endpoint->address()));
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 90000, 1)), ErrorCode::kOk);
  ASSERT_TRUE(s.a.peers->Remove(s.a.PeerOf(s.b)).ok());
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  EXPECT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 90000, 2)), ErrorCode::kUnknownPeer);
  // As the target, the machine is known to this domain as long as the other vector has it.
  ASSERT_EQ(s.b.endpoint->Write(s.b.WriteTo(s.a, 0, 100, 3)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.b, 3).ok());
  ASSERT_TRUE(vector->Close().ok());
  ASSERT_EQ(s.b.endpoint->Write(s.b.WriteTo(s.a, 0, 100, 4)), ErrorCode::kOk);
  EXPECT_EQ(s.lab.Take(s.b, 4).provider_error, 14);
}

// A program that inserts for each of its users, and removes for the first that leaves, is wrong.
TEST(ClosingTest, OneRemovalForgetsAPeerThatWasInsertedTwice) {
  Scene s;
  const std::uint64_t commands = s.a.nic.counters().completed_cmds;
  const fabric::Peer again = Must(s.a.peers->Insert(s.b.endpoint->address()));
  EXPECT_EQ(again, s.a.PeerOf(s.b));
  EXPECT_EQ(s.a.nic.counters().completed_cmds, commands);  // the device hears nothing of it
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 90000, 1)), ErrorCode::kOk);
  ASSERT_TRUE(s.a.peers->Remove(again).ok());
  EXPECT_EQ(s.lab.Take(s.a, 1).provider_error, 1);
  EXPECT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 100, 2)), ErrorCode::kUnknownPeer);
  ASSERT_EQ(s.b.endpoint->Write(s.b.WriteTo(s.a, 0, 100, 3)), ErrorCode::kOk);
  EXPECT_EQ(s.lab.Take(s.b, 3).provider_error, 14);
}

TEST(ClosingTest, RemovingAPeerOnceNobodyNeedsItIsRight) {
  Scene s;
  Must(s.a.peers->Insert(s.b.endpoint->address()));
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 90000, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.b.endpoint->Write(s.b.WriteTo(s.a, 0, 100, 2)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  EXPECT_TRUE(s.lab.Take(s.b, 2).ok());
  ASSERT_TRUE(s.a.peers->Remove(s.a.PeerOf(s.b)).ok());
  s.lab.ExpectNoMore();
}

TEST(ClosingTest, RemovedPeerIsNotMistakenForItsSuccessor) {
  Scene s;
  const fabric::Peer old = s.a.PeerOf(s.b);
  ASSERT_TRUE(s.a.peers->Remove(old).ok());
  const fabric::Peer next = Must(s.a.peers->Insert(s.c.endpoint->address()));
  EXPECT_NE(old, next);
  EXPECT_EQ(s.a.peers->Remove(old).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(s.a.peers->Lookup(old).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(*s.a.peers->Lookup(next), s.c.endpoint->address());
}

// Endpoints that share a completion queue: entries of the others stay when one closes.
TEST(ClosingTest, CompletionsOfTheOthersInASharedQueueStay) {
  Scene s;
  auto second = Must(s.a.domain->OpenEndpoint(s.a.Parts()));
  auto third = Must(s.a.domain->OpenEndpoint(s.a.Parts()));
  for (std::uint64_t i = 1; i <= 4; ++i) {
    ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 100, i)), ErrorCode::kOk);
    ASSERT_EQ(second->Write(s.a.WriteTo(s.b, 0, 100, 10 + i)), ErrorCode::kOk);
    ASSERT_EQ(third->Write(s.a.WriteTo(s.b, 0, 100, 20 + i)), ErrorCode::kOk);
  }
  s.lab.world().timeline().RunFor(1ms);  // all are in the queue, and none is read
  ASSERT_TRUE(second->Close().ok());
  ASSERT_TRUE(third->Close().ok());
  for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_TRUE(s.lab.Take(s.a, i).ok());
  // Those of the closed ones are gone, in any order of closing.
  s.ExpectTheOthersUnharmed();
}

TEST(ClosingTest, OrderOfClosingIsWatched) {
  Scene s;
  EXPECT_EQ(s.a.queue->Close().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(s.a.peers->Close().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(s.a.domain->Close().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(s.a.endpoint->Close().ok());
  EXPECT_TRUE(s.a.queue->Close().ok());
  EXPECT_TRUE(s.a.peers->Close().ok());
  EXPECT_EQ(s.a.domain->Close().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(s.a.region->Close().ok());
  EXPECT_TRUE(s.a.domain->Close().ok());
}

}  // namespace
}  // namespace drydock::sim_testing
