// Fault plans and operations between two processes: the initiator's plan, and the target's.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/faults/device_faults.h"
#include "drydock/sim/hosts/testing/station.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

namespace efa = fabric::efa_queue;
using fabric::faults::Fault;
using fabric::faults::FaultEngine;
using fabric::faults::FaultRule;
using sim::EfaStatus;

int Number(EfaStatus status) { return static_cast<int>(status); }

FaultRule Rule(Fault fault) {
  FaultRule rule = FaultRule::Of(fault);
  rule.illegal = fabric::faults::Describe(fault).legality == fabric::faults::Legality::kIllegal;
  return rule;
}
FaultRule Failing(Fault fault, int placed_percent) {
  FaultRule rule = Rule(fault);
  rule.parameters.placed_percent = placed_percent;
  return rule;
}

std::shared_ptr<FaultEngine> EngineOf(FaultRule rule) {
  auto engine =
      FaultEngine::Create({.mode = fabric::faults::Legality::kIllegal, .rules = {std::move(rule)}},
                          1, {.device = sim::DeviceFaults()});
  EXPECT_TRUE(engine.ok()) << engine.status();
  return *engine;
}

constexpr std::uint32_t kLength = 100000;

// An initiator and a target, each with a plan or none.
struct Pair {
  explicit Pair(std::shared_ptr<FaultEngine> initiators, std::shared_ptr<FaultEngine> targets = {})
      : fabric(FreshFabric()),
        engine(initiators != nullptr ? initiators : targets),
        a(OptionsWith(std::move(initiators))),
        b(OptionsWith(std::move(targets))) {
    b.Introduce(a.address().gid);
    a.Fill(0, kLength, 1);
  }

  StationOptions OptionsWith(std::shared_ptr<FaultEngine> faults) const {
    StationOptions options;
    options.fabric = fabric;
    options.profile = &CalmStationProfile();
    options.faults = std::move(faults);
    return options;
  }
  int Write(std::uint32_t length = kLength) {
    return a.StatusOf(a.Post(b.address(), {.operation = efa::Operation::kWrite, .length = length}));
  }
  int Read() {
    b.Fill(0, kLength, 2);
    return a.StatusOf(a.Post(b.address(), {.operation = efa::Operation::kRead, .length = kLength}));
  }
  int Send() {
    b.PostReceive(0, 4000, 1);
    return a.StatusOf(a.Post(b.address(), {.length = 4000}));
  }
  std::uint64_t fired() const { return engine->Report()[0].fired; }
  void ExpectHealed() {
    EXPECT_GT(fired(), 0u);
    engine->Heal();
    EXPECT_EQ(Write(), 0);
    EXPECT_TRUE(b.Holds(0, kLength, 1));
  }
  std::uint64_t WrongBits(std::span<const std::byte> one, std::span<const std::byte> other) const {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      bits += static_cast<std::uint64_t>(
          std::popcount(static_cast<unsigned>(one[i] ^ other[i]) & 0xffu));
    }
    return bits;
  }

  const std::string fabric;
  const std::shared_ptr<FaultEngine> engine;
  Station a;
  Station b;
};

bool IsZero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte byte) { return byte == std::byte{}; });
}

// ---- The initiator's plan ----

TEST(InitiatorFaultsTest, LostPacketsAreSentAgain) {
  FaultRule rule = Rule(Fault::kPacketLoss);
  rule.when.every = 3;
  Pair pair(EngineOf(rule));
  EXPECT_EQ(pair.Write(), 0);
  EXPECT_TRUE(pair.b.Holds(0, kLength, 1));
  EXPECT_GE(pair.a.device_counters().retrans_pkts, 3u);
}

TEST(InitiatorFaultsTest, AnOperationFailsBeforeItDoesAnything) {
  Pair pair(EngineOf(Failing(Fault::kRemoteAddress, 0)));
  EXPECT_EQ(pair.Write(), Number(EfaStatus::kRemoteBadAddress));
  EXPECT_TRUE(IsZero(pair.b.Copy(0, kLength)));
  EXPECT_EQ(pair.Read(), Number(EfaStatus::kRemoteBadAddress));
  EXPECT_TRUE(pair.a.Holds(0, kLength, 1));
  pair.ExpectHealed();
}

TEST(InitiatorFaultsTest, AnOperationFailsWhenAllOfItHasHappened) {
  Pair pair(EngineOf(Failing(Fault::kRemoteAbort, 100)));
  EXPECT_EQ(pair.Write(), Number(EfaStatus::kRemoteAbort));
  EXPECT_TRUE(pair.b.Holds(0, kLength, 1));
  EXPECT_EQ(pair.Send(), Number(EfaStatus::kRemoteAbort));
  EXPECT_EQ(pair.b.Wait().status, efa::CompletionStatus::kOk);
  EXPECT_EQ(pair.Read(), Number(EfaStatus::kRemoteAbort));
  EXPECT_TRUE(pair.a.Holds(0, kLength, 2));
}

TEST(InitiatorFaultsTest, AWriteFailsInTheMiddle) {
  Pair pair(EngineOf(Failing(Fault::kRemoteAbort, 50)));
  const std::uint16_t written = pair.a.Post(
      pair.b.address(), {.operation = efa::Operation::kWrite, .length = kLength, .immediate = 7});
  EXPECT_EQ(pair.a.StatusOf(written), Number(EfaStatus::kRemoteAbort));
  EXPECT_EQ(pair.a.Copy(0, kLength / 2), pair.b.Copy(0, kLength / 2));
  EXPECT_TRUE(IsZero(pair.b.Copy(kLength / 2, kLength / 2)));
  EXPECT_FALSE(pair.b.Poll().has_value());  // no immediate of a write that is not whole
  pair.ExpectHealed();
}

TEST(InitiatorFaultsTest, AMessageThatFailsTakesNoReceive) {
  FaultRule rule = Failing(Fault::kRemoteAbort, 50);
  rule.when.nth = 1;
  Pair pair(EngineOf(rule));
  EXPECT_EQ(pair.Send(), Number(EfaStatus::kRemoteAbort));
  EXPECT_FALSE(pair.b.Poll().has_value());
  EXPECT_EQ(pair.a.StatusOf(pair.a.Post(pair.b.address(), {.length = 100})), 0);
  EXPECT_EQ(pair.b.Wait().length, 100u);
}

TEST(InitiatorFaultsTest, BitsAreWrong) {
  FaultRule rule = Rule(Fault::kCorruptPlacement);
  rule.parameters.bits = 3;
  Pair pair(EngineOf(rule));
  EXPECT_EQ(pair.Write(), 0);
  EXPECT_EQ(pair.WrongBits(pair.a.Copy(0, kLength), pair.b.Copy(0, kLength)), 3u);
  EXPECT_EQ(pair.Send(), 0);
  EXPECT_EQ(pair.b.Wait().status, efa::CompletionStatus::kOk);
  EXPECT_EQ(pair.WrongBits(pair.a.Copy(0, 4000), pair.b.Copy(0, 4000)), 3u);
  EXPECT_EQ(pair.Read(), 0);
  EXPECT_EQ(pair.WrongBits(pair.a.Copy(0, kLength), pair.b.Copy(0, kLength)), 3u);
  pair.engine->Heal();
}

TEST(InitiatorFaultsTest, BytesAreLost) {
  Pair pair(EngineOf(Rule(Fault::kLostPlacement)));
  EXPECT_EQ(pair.Write(), 0);
  EXPECT_TRUE(IsZero(pair.b.Copy(0, kLength)));
  EXPECT_EQ(pair.Send(), 0);
  EXPECT_EQ(pair.b.Wait().length, 4000u);
  EXPECT_TRUE(IsZero(pair.b.Copy(0, 4000)));
  EXPECT_EQ(pair.Read(), 0);
  EXPECT_TRUE(pair.a.Holds(0, kLength, 1));
  pair.ExpectHealed();
}

TEST(InitiatorFaultsTest, ReadDataComesInPiecesSeveralTimes) {
  for (const Fault fault :
       {Fault::kReorderedSegments, Fault::kDuplicatePlacement, Fault::kMixedRead}) {
    Pair pair(EngineOf(Rule(fault)));
    EXPECT_EQ(pair.Read(), 0) << Describe(fault).name;
    EXPECT_TRUE(pair.a.Holds(0, kLength, 2)) << Describe(fault).name;
    EXPECT_GT(pair.fired(), 0u) << Describe(fault).name;
  }
}

TEST(InitiatorFaultsTest, ABlockedLinkIsSilence) {
  Pair pair(EngineOf(Rule(Fault::kLinkBlocked)));
  EXPECT_EQ(pair.Write(), Number(EfaStatus::kLocalUnreachablePeer));
  EXPECT_TRUE(IsZero(pair.b.Copy(0, kLength)));
  pair.ExpectHealed();
}

TEST(InitiatorFaultsTest, ACompletionIsLost) {
  FaultRule rule = Rule(Fault::kLostCompletion);
  rule.when.nth = 1;
  Pair pair(EngineOf(rule));
  pair.a.Post(pair.b.address(), {.operation = efa::Operation::kWrite, .length = 8});
  EXPECT_EQ(pair.Write(), 0);  // the second one's is the first that comes
}

TEST(InitiatorFaultsTest, AResetFlushesRemoteOperations) {
  FaultRule rule = Rule(Fault::kNicResets);
  rule.when.nth = 2;
  Pair pair(EngineOf(rule));
  const std::uint16_t waits = pair.a.Post(pair.b.address(), {.length = 8});
  pair.b.PollUntil([&] {
    pair.b.Poll();
    return pair.b.device_counters().rx_drops > 0;
  });
  pair.a.Post(pair.b.address(), {.length = 8});  // leaves, and the device restarts
  EXPECT_EQ(pair.a.StatusOf(waits), Number(EfaStatus::kFlushed));
}

// ---- The target's plan ----

TEST(TargetFaultsTest, AnswersThatGetLostAreSilence) {
  Pair pair(nullptr, EngineOf(Rule(Fault::kLinkBlocked)));
  EXPECT_EQ(pair.Write(), Number(EfaStatus::kLocalUnreachablePeer));
  EXPECT_TRUE(pair.b.Holds(0, kLength, 1));
  pair.ExpectHealed();
}

TEST(TargetFaultsTest, ADeadDeviceIsSilent) {
  Pair pair(nullptr, EngineOf(Rule(Fault::kNicDies)));
  EXPECT_EQ(pair.Write(), Number(EfaStatus::kLocalUnreachablePeer));  // its answer does not leave
  EXPECT_EQ(pair.Write(), Number(EfaStatus::kLocalUnreachablePeer));
}

TEST(TargetFaultsTest, AResetAbortsWhatWaits) {
  Pair pair(nullptr, nullptr);
  const std::uint16_t waits = pair.a.Post(pair.b.address(), {.length = 8});
  pair.b.PollUntil([&] {
    pair.b.Poll();
    return pair.b.device_counters().rx_drops > 0;
  });
  {
    const std::lock_guard lock(pair.b.host().mutex());
    pair.b.host().node().Reset();
    pair.b.host().Kick();
  }
  EXPECT_EQ(pair.a.StatusOf(waits), Number(EfaStatus::kRemoteAbort));
}

// The receive that was flushed had got the bytes; the next one gets them, too.
TEST(TargetFaultsTest, AMessageOfAFlushedReceiveIsWholeInTheNextOne) {
  for (const int placed : {50, 100}) {
    FaultRule rule = Failing(Fault::kFlushed, placed);
    rule.when.operations = fabric::faults::OperationSet{fabric::OperationKind::kReceive};
    rule.when.nth = 1;
    Pair pair(nullptr, EngineOf(rule));
    pair.b.PostReceive(50000, 4000, 1);
    pair.b.PostReceive(0, 4000, 2);
    EXPECT_EQ(pair.a.StatusOf(pair.a.Post(pair.b.address(), {.length = 4000})), 0);
    EXPECT_EQ(pair.b.Wait().status, efa::CompletionStatus::kFlushed);
    EXPECT_EQ(pair.b.Wait().status, efa::CompletionStatus::kOk);
    EXPECT_TRUE(pair.b.Holds(0, 4000, 1)) << placed << " % were placed in the first";
  }
}

TEST(TargetFaultsTest, AReceiveFails) {
  FaultRule rule = Failing(Fault::kLocalKey, 0);
  rule.when.operations = fabric::faults::OperationSet{fabric::OperationKind::kReceive};
  Pair pair(nullptr, EngineOf(rule));
  EXPECT_EQ(pair.Send(), Number(EfaStatus::kRemoteBadAddress));
  EXPECT_EQ(pair.b.Wait().status, efa::CompletionStatus::kLocalInvalidLkey);
}

}  // namespace
}  // namespace drydock::sim_testing
