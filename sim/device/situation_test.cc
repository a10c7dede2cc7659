// Situations of a pair of peers that show properties of EFA: receives that are not there, queue
// pair numbers that are used again, traffic to oneself.

#include <chrono>
#include <cstdint>
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

constexpr std::uint64_t kSeeds = 30;

// ---- No receive is posted ----

TEST(ReceiverNotReadyTest, SendWaitsForEverByDefault) {
  Scene s;
  Fill(s.a.Bytes(0, 4096), 1);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, 1)), ErrorCode::kOk);
  s.lab.ExpectNoMore(3600s);
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 2)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  EXPECT_EQ(s.lab.Take(s.b, 2).length_bytes, 4096u);
  EXPECT_TRUE(Holds(s.b.Bytes(0, 4096), 1));
  s.ExpectTheOthersUnharmed();
}

TEST(ReceiverNotReadyTest, IdleWorldStaysIdleWhileSomebodyWaits) {
  Scene s;
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, 1)), ErrorCode::kOk);
  s.lab.Watch(1s);
  const std::uint64_t events = s.lab.world().timeline().event_count();
  s.lab.Watch(3600s);
  EXPECT_EQ(s.lab.world().timeline().event_count(), events);
}

TEST(ReceiverNotReadyTest, EveryReceiveServesOneOfThoseThatWait) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Scene s(Small(), {}, seed);
    constexpr std::uint64_t kMessages = 20;
    for (std::uint64_t i = 1; i <= kMessages; ++i) {
      Side& from = i % 2 == 0 ? s.a : s.c;
      Fill(from.Bytes(i * 512, 512), i);
      fabric::SendRequest send = from.SendTo(s.b, i * 512, 512, i);
      send.immediate = static_cast<std::uint32_t>(i);
      ASSERT_EQ(from.endpoint->Send(send), ErrorCode::kOk);
    }
    s.lab.Watch();
    for (std::uint64_t i = 1; i <= kMessages; ++i) {
      ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(i * 512, 512, i)), ErrorCode::kOk);
      if (i % 3 == 0) s.lab.Watch(70us);
    }
    for (std::uint64_t i = 1; i <= kMessages; ++i) {
      const Completion received = s.lab.Take(s.b, i);
      EXPECT_TRUE(received.ok());
      EXPECT_EQ(received.length_bytes, 512u);
      ASSERT_TRUE(received.immediate.has_value());
      EXPECT_TRUE(Holds(s.b.Bytes(i * 512, 512), *received.immediate));
      EXPECT_TRUE(s.lab.Take(i % 2 == 0 ? s.a : s.c, i).ok());
    }
    s.lab.ExpectNoMore();
  }
}

// A sender that waited goes away between the receive and the retry: the next sender gets the
// receive.
TEST(ReceiverNotReadyTest, ReceiveOfAWaiterThatGoesIsTheNextOnes) {
  enum class Going { kCloses, kForgetsThePeer, kClosesTheRegion, kDies };
  for (const Going going :
       {Going::kCloses, Going::kForgetsThePeer, Going::kClosesTheRegion, Going::kDies}) {
    SCOPED_TRACE(absl::StrCat("way of going ", static_cast<int>(going)));
    Scene s;
    auto region = s.c.Register(0, 4096, Access::kAll);
    fabric::SendRequest first = s.c.SendTo(s.b, 0, 100, 1);
    first.buffer = region->Local(0, 100);
    ASSERT_EQ(s.c.endpoint->Send(first), ErrorCode::kOk);
    s.lab.Watch();
    Fill(s.a.Bytes(0, 100), 2);
    ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, 2)), ErrorCode::kOk);
    s.lab.Watch();
    ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 100, 3)), ErrorCode::kOk);
    switch (going) {
      case Going::kCloses:
        ASSERT_TRUE(s.c.endpoint->Close().ok());
        break;
      case Going::kForgetsThePeer:
        ASSERT_TRUE(s.c.peers->Remove(s.c.PeerOf(s.b)).ok());
        break;
      case Going::kClosesTheRegion:
        ASSERT_TRUE(region->Close().ok());
        s.lab.AllowFindings(sim::Check::kUseAfterDeregister);
        break;
      case Going::kDies:
        s.c.node.Kill();
    }
    EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
    EXPECT_TRUE(s.lab.Take(s.b, 3).ok());
    EXPECT_TRUE(Holds(s.b.Bytes(0, 100), 2));
    s.lab.Watch();
    s.c.completions.clear();
    s.lab.ExpectNoMore();
  }
}

TEST(ReceiverNotReadyTest, MessageThatIsTooLongForTheReceiveLeavesItToTheNext) {
  Scene s;
  ASSERT_EQ(s.c.endpoint->Send(s.c.SendTo(s.b, 0, 200, 1)), ErrorCode::kOk);
  s.lab.Watch();
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, 2)), ErrorCode::kOk);
  s.lab.Watch();
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 100, 3)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
  EXPECT_TRUE(s.lab.Take(s.b, 3).ok());
  // In any order of their retries: it did not fit, or there was none left.
  s.lab.Watch();
  for (const Completion& completion : s.c.completions) EXPECT_EQ(completion.provider_error, 11);
}

TEST(ReceiverNotReadyTest, DeadSendersMessageDoesNotArriveLater) {
  for (const std::uint32_t retries : {6u, 7u}) {
    Scene s(Small(), {.retries = retries});
    ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, 1)), ErrorCode::kOk);
    s.lab.Watch(70us);
    s.a.node.Kill();
    ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 100, 2)), ErrorCode::kOk);
    s.lab.ExpectNoMore(10s);
  }
}

TEST(ReceiverNotReadyTest, SecurityGroupStopsTheRetries) {
  for (const bool way_back : {false, true}) {
    Scene s;
    s.lab.ExpectWorks(s.a, s.b);
    ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, kBad)), ErrorCode::kOk);
    s.lab.Watch();
    way_back ? s.lab.world().Block(s.b.node, s.a.node) : s.lab.world().Block(s.a.node, s.b.node);
    s.TakeFailure(kBad, 13, ErrorCode::kPeerUnresponsive);
    ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 100, 2)), ErrorCode::kOk);
    s.ExpectTheOthersUnharmed();
    EXPECT_TRUE(IsZero(s.b.Bytes(0, 100)));
  }
}

TEST(ReceiverNotReadyTest, ClosedPeerIsFoundOutAtTheNextAttempt) {
  Scene s;
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, kBad)), ErrorCode::kOk);
  s.lab.Watch();
  ASSERT_TRUE(s.b.endpoint->Close().ok());
  s.ExpectOnlyFailure(9, ErrorCode::kBadDestination);
}

// ---- Immediates that take receives (FI_RX_CQ_DATA) ----

struct SolicitedScene {
  explicit SolicitedScene(std::uint64_t seed = 1, const SideOptions& initiator = {})
      : lab(seed),
        a(lab.Add("a", Solicited(initiator))),
        b(lab.Add("b", {.receives_take_immediates = true})) {
    lab.Introduce();
  }
  static SideOptions Solicited(SideOptions options) {
    options.receives_take_immediates = true;
    return options;
  }
  fabric::WriteRequest Write(std::uint64_t context) {
    fabric::WriteRequest write = a.WriteTo(b, 0, 4096, context);
    write.immediate = 77;
    return write;
  }
  Lab lab;
  Side& a;
  Side& b;
};

TEST(SolicitedImmediateTest, TakesAReceiveAndLeavesItsBufferAlone) {
  SolicitedScene s;
  Fill(s.a.Bytes(0, 4096), 1);
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(8192, 4096, 5)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Write(s.Write(1)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  const Completion told = s.lab.Take(s.b, 5);
  EXPECT_TRUE(told.ok());
  EXPECT_EQ(told.kind, OperationKind::kRemoteWrite);
  EXPECT_EQ(told.immediate, 77u);
  EXPECT_EQ(told.length_bytes, 4096u);
  EXPECT_EQ(told.source, s.b.PeerOf(s.a));
  EXPECT_TRUE(Holds(s.b.Bytes(0, 4096), 1));
  EXPECT_TRUE(IsZero(s.b.Bytes(8192, 4096)));
  s.lab.ExpectNoMore();
}

TEST(SolicitedImmediateTest, WaitsForAReceiveWithItsBytesInPlace) {
  SolicitedScene s;
  Fill(s.a.Bytes(0, 4096), 1);
  ASSERT_EQ(s.a.endpoint->Write(s.Write(1)), ErrorCode::kOk);
  s.lab.ExpectNoMore(60s);
  EXPECT_TRUE(Holds(s.b.Bytes(0, 4096), 1));  // nothing promises otherwise
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(8192, 64, 5)), ErrorCode::kOk);  // of any length
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  EXPECT_EQ(s.lab.Take(s.b, 5).immediate, 77u);
  s.lab.ExpectNoMore();
}

TEST(SolicitedImmediateTest, RunsOutOfRetriesWithoutOne) {
  SolicitedScene s(1, {.retries = 2});
  ASSERT_EQ(s.a.endpoint->Write(s.Write(kBad)), ErrorCode::kOk);
  const Completion failed = s.lab.Take(s.a, kBad);
  EXPECT_EQ(failed.provider_error, 10);
  EXPECT_EQ(failed.error, ErrorCode::kReceiverNotReady);
  // A write without immediate needs no receive.
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, 2)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
  s.lab.ExpectNoMore();
}

TEST(SolicitedImmediateTest, ReceiveWithoutContextIsTakenInSilence) {
  SolicitedScene s;
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(8192, 64, 0)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Write(s.Write(1)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  s.lab.ExpectNoMore();
}

TEST(UnsolicitedImmediateTest, HasNoContextAndTakesNoReceive) {
  Scene s;
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(8192, 4096, 5)), ErrorCode::kOk);
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 4096, 1);
  write.immediate = 0xffffffff;
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  const Completion told = s.lab.TakeNameless(s.b);
  EXPECT_TRUE(told.ok());
  EXPECT_EQ(told.kind, OperationKind::kRemoteWrite);
  EXPECT_EQ(told.immediate, 0xffffffffu);
  EXPECT_EQ(told.length_bytes, 4096u);
  EXPECT_EQ(told.source, s.b.PeerOf(s.a));
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 64, 2)), ErrorCode::kOk);
  EXPECT_EQ(s.lab.Take(s.b, 5).length_bytes, 64u);
  EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
  s.ExpectTheOthersUnharmed();
}

// ---- Immediates between endpoints that do not agree ----

struct MixedScene {
  explicit MixedScene(bool target_solicits, const sim::Profile& profile = Small())
      : lab(1, profile),
        a(lab.Add("a", {.receives_take_immediates = !target_solicits})),
        b(lab.Add("b", {.receives_take_immediates = target_solicits})) {
    lab.Introduce();
    write = a.WriteTo(b, 0, 4096, kBad);
    write.immediate = 77;
    Fill(a.Bytes(0, 4096), 1);
    EXPECT_EQ(b.endpoint->Recv(b.RecvAt(8192, 4096, 5)), ErrorCode::kOk);
  }
  // The receive that was posted first of all takes a message.
  void ExpectReceiveIsThere() {
    ASSERT_EQ(a.endpoint->Send(a.SendTo(b, 0, 64, 2)), ErrorCode::kOk);
    EXPECT_TRUE(lab.Take(a, 2).ok());
    EXPECT_EQ(lab.Take(b, 5).length_bytes, 64u);
    lab.ExpectNoMore();
  }

  Lab lab;
  Side& a;
  Side& b;
  fabric::WriteRequest write;
};

TEST(MixedImmediateTest, FailsAndTakesNoReceive) {
  for (const bool target_solicits : {true, false}) {
    SCOPED_TRACE(target_solicits);
    MixedScene s(target_solicits);
    ASSERT_EQ(s.a.endpoint->Write(s.write), ErrorCode::kOk);
    const Completion failed = s.lab.Take(s.a, kBad);
    EXPECT_EQ(failed.provider_error, 18);
    EXPECT_EQ(failed.error, ErrorCode::kFeatureMismatch);
    EXPECT_TRUE(IsZero(s.b.Bytes(0, 4096)));
    s.write.immediate.reset();
    s.write.context = ContextOf(1);
    ASSERT_EQ(s.a.endpoint->Write(s.write), ErrorCode::kOk);
    EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
    EXPECT_TRUE(Holds(s.b.Bytes(0, 4096), 1));
    s.ExpectReceiveIsThere();
  }
}

TEST(MixedImmediateTest, TakesNoReceiveWhereTheFirmwareLetsItPass) {
  sim::Profile profile = Small();
  profile.refuses_mixed_immediates = 0;
  for (const bool target_solicits : {true, false}) {
    SCOPED_TRACE(target_solicits);
    MixedScene s(target_solicits, profile);
    ASSERT_EQ(s.a.endpoint->Write(s.write), ErrorCode::kOk);
    EXPECT_TRUE(s.lab.Take(s.a, kBad).ok());
    EXPECT_EQ(s.lab.TakeNameless(s.b).immediate, 77u);
    s.ExpectReceiveIsThere();
  }
}

TEST(UnsolicitedImmediateTest, LengthHas32Bits) {
  Scene s;
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 70001, 1);
  write.immediate = 1;
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  EXPECT_EQ(s.lab.TakeNameless(s.b).length_bytes, 70001u);
}

// ---- A queue pair number that is used again ----

TEST(QueuePairReuseTest, StaleTrafficFindsNobody) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Scene s(Small(), {}, seed);
    for (std::uint64_t i = 1; i <= 8; ++i) {
      fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 30000, i);
      write.immediate = 1;
      ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
      ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, 100 + i)), ErrorCode::kOk);
    }
    s.lab.world().timeline().RunFor(seed * 1us);
    const std::uint16_t number = s.b.rings().queue_pair().number;
    ASSERT_TRUE(s.b.endpoint->Close().ok());
    s.b.completions.clear();
    s.b.endpoint = Must(s.b.domain->OpenEndpoint(s.b.Parts()));
    ASSERT_EQ(s.b.rings().queue_pair().number, number);
    ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(65536, 4096, 9)), ErrorCode::kOk);
    const std::uint64_t then = Checksum(s.b.memory());
    for (std::uint64_t i = 1; i <= 8; ++i) {
      for (const std::uint64_t context : {i, 100 + i}) {
        const Completion completion = s.lab.Take(s.a, context);
        EXPECT_TRUE(completion.ok() || completion.provider_error == 9) << completion.provider_error;
      }
    }
    s.lab.Watch();
    EXPECT_TRUE(s.b.completions.empty()) << "the new endpoint heard what was said to the old one";
    EXPECT_EQ(Checksum(s.b.memory()), then);
    EXPECT_GT(s.b.nic.counters().qkey_viol, 0u);
    s.a.Insert(s.b);
    ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, 1)), ErrorCode::kOk);
    EXPECT_TRUE(s.lab.Take(s.b, 9).ok());
  }
}

TEST(QueuePairReuseTest, OldAnswersAreNotTakenForNewOnes) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Scene s(Small(), {}, seed);
    for (std::uint64_t i = 1; i <= 12; ++i) {
      ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 9000, i)), ErrorCode::kOk);
    }
    s.lab.world().timeline().RunFor(seed * 2us);
    ASSERT_TRUE(s.a.endpoint->Close().ok());
    s.a.endpoint = Must(s.a.domain->OpenEndpoint(s.a.Parts()));
    // The same request ids, now of work that cannot end: the target posts no receive.
    for (std::uint64_t i = 1; i <= 12; ++i) {
      ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.c, 0, 100, 1000 + i)), ErrorCode::kOk);
    }
    s.lab.ExpectNoMore(1s);
  }
}

// ---- Oneself ----

TEST(LoopbackTest, FollowsTheSameRules) {
  Scene s;
  s.lab.ExpectWorks(s.a, s.a);
  fabric::WriteRequest nowhere = s.a.WriteTo(s.a, 0, 4096, kBad);
  nowhere.target.key ^= 2;
  ASSERT_EQ(s.a.endpoint->Write(nowhere), ErrorCode::kOk);
  s.ExpectOnlyFailure(7, ErrorCode::kRemoteAccess);
}

TEST(LoopbackTest, RangesMayOverlap) {
  Lab lab(1, Calm());
  Side& a = lab.Add("a");
  lab.Introduce();
  // A packet at a time, in no order: only a write of one packet has a defined outcome.
  Fill(a.Bytes(0, 4096), 1);
  fabric::WriteRequest write = a.WriteTo(a, 0, 4096, 1);
  write.target = a.Remote(100);
  ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
  EXPECT_TRUE(lab.Take(a, 1).ok());
  EXPECT_TRUE(Holds(a.Bytes(100, 4096), 1));
  fabric::ReadRequest read = a.ReadFrom(a, 50, 4096, 2);
  read.source = a.Remote(100);
  ASSERT_EQ(a.endpoint->Read(read), ErrorCode::kOk);
  EXPECT_TRUE(lab.Take(a, 2).ok());
  EXPECT_TRUE(Holds(a.Bytes(50, 4096), 1));
}

// ---- The source ----

TEST(SourceTest, IsThePeerAsTheReceiverNamesIt) {
  Scene s;
  for (std::uint64_t i = 1; i <= 2; ++i) {
    ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(i * 4096, 4096, i)), ErrorCode::kOk);
    Side& from = i == 1 ? s.a : s.c;
    ASSERT_EQ(from.endpoint->Send(from.SendTo(s.b, 0, 100, 10)), ErrorCode::kOk);
    EXPECT_EQ(s.lab.Take(s.b, i).source, s.b.PeerOf(from));
    EXPECT_TRUE(s.lab.Take(from, 10).ok());
  }
}

TEST(SourceTest, TellsEndpointsOfOneNicApart) {
  Scene s;
  Side& d = s.lab.AddBeside(s.a);
  d.Insert(s.b);
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(4096, 4096, 2)), ErrorCode::kOk);
  ASSERT_EQ(d.endpoint->Send(d.SendTo(s.b, 0, 100, 10)), ErrorCode::kOk);
  // Its NIC is known, this endpoint of it is not.
  EXPECT_EQ(s.lab.Take(s.b, 1).source, fabric::kNoPeer);
  s.b.Insert(d);
  ASSERT_EQ(d.endpoint->Send(d.SendTo(s.b, 0, 100, 11)), ErrorCode::kOk);
  EXPECT_EQ(s.lab.Take(s.b, 2).source, s.b.PeerOf(d));
}

}  // namespace
}  // namespace drydock::sim_testing
