// The verdict for each fault of a plan at each point of an operation's life.

#include "drydock/sim/faults/fault_model.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "drydock/coro/check.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/event.h"
#include "drydock/fabric/faults/fault.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/fabric/limits.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/faults/device_faults.h"
#include "drydock/sim/memory/segment.h"
#include "drydock/sim/network/wire.h"
#include "drydock/sim/testing/bare_device.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::OperationKind;
using fabric::faults::Fault;
using fabric::faults::FaultRule;
using sim::CompletionVerdict;
using sim::DrawPurpose;
using sim::EfaStatus;
using sim::FetchVerdict;
using sim::Flight;
using sim::Operation;
using Machine = sim::DepartureVerdict::Machine;

FaultRule Rule(Fault fault) {
  FaultRule rule = FaultRule::Of(fault);
  rule.illegal = fabric::faults::Describe(fault).legality == fabric::faults::Legality::kIllegal;
  return rule;
}
// Of operations of this kind only.
FaultRule Rule(Fault fault, OperationKind kind) {
  FaultRule rule = Rule(fault);
  rule.when.operations = {kind};
  return rule;
}
// After so much of it was placed.
FaultRule Placing(Fault fault, std::int64_t percent) {
  FaultRule rule = Rule(fault);
  rule.parameters.placed_percent = percent;
  return rule;
}

std::shared_ptr<fabric::faults::FaultEngine> EngineOf(std::vector<FaultRule> rules) {
  auto engine = fabric::faults::FaultEngine::Create(
      {.mode = fabric::faults::Legality::kIllegal, .rules = std::move(rules)}, 1,
      {.device = sim::DeviceFaults()});
  DD_CHECK(engine.ok(), "the plan of the test is valid");
  return *engine;
}

struct Scene {
  explicit Scene(FaultRule rule) : Scene(std::vector{std::move(rule)}) {}
  explicit Scene(std::vector<FaultRule> rules)
      : model(bench.timeline, EngineOf(std::move(rules))) {}

  Operation& Start(OperationKind kind = OperationKind::kWrite, std::uint64_t length = 1000) {
    return bench.Start(kind, from, to, length);
  }
  // One that was fetched, and passed the local checks.
  Operation& Fetched(OperationKind kind = OperationKind::kWrite, std::uint64_t length = 1000) {
    Operation& operation = Start(kind, length);
    Fetch(operation);
    return operation;
  }
  FetchVerdict Fetch(Operation& operation, bool sound = true) {
    return model.OnFetch(from, operation, sound);
  }
  sim::PlacementVerdict Place(const Operation& operation, std::uint64_t offset,
                              std::uint64_t length) {
    return model.OnPlacement(b.state, operation, {offset, length});
  }
  sim::DepartureVerdict Depart(DrawPurpose purpose = DrawPurpose::kRequest) {
    return model.OnDeparture(a.state, Start(), purpose);
  }
  Flight Fly(Operation& operation, DrawPurpose purpose = DrawPurpose::kRequest) {
    Flight flight{.arrives = true, .delay = 10us};
    model.OnFlight(a.state, operation, purpose, flight);
    return flight;
  }

  Bench bench;
  BenchNic& a = bench.AddNic();
  BenchNic& b = bench.AddNic();
  sim::QueuePair& from = a.OpenQueuePair();
  sim::QueuePair& to = b.OpenQueuePair();
  sim::FaultModel model;
};

// ---- The outcome of an operation ----

TEST(FaultModelTest, PlanWithoutRulesSaysNothing) {
  Scene scene(std::vector<FaultRule>{});
  Operation& operation = scene.Start();
  EXPECT_EQ(scene.Fetch(operation).when, FetchVerdict::When::kNow);
  EXPECT_FALSE(operation.faulted);
  EXPECT_EQ(scene.Depart().machine, Machine::kWorks);
  EXPECT_TRUE(scene.Depart().leaves);
  EXPECT_EQ(scene.Fly(operation).delay, 10us);
  EXPECT_FALSE(scene.model.OnReceive(scene.b.state, operation).failure.has_value());
  EXPECT_EQ(scene.model.OnOpenCompletionQueue(scene.a.state, 64), 64u);
  EXPECT_EQ(scene.model.OnInsertPeer(scene.a.state, {}), 0ns);
}

TEST(FaultModelTest, WhatTheDeviceFindsByItselfFailsWithoutAPacket) {
  const std::pair<Fault, EfaStatus> faults[] = {
      {Fault::kQueuePairInternal, EfaStatus::kLocalQueuePairInternal},
      {Fault::kUnsupportedOperation, EfaStatus::kLocalUnsupportedOperation},
      {Fault::kInvalidAddressHandle, EfaStatus::kLocalInvalidAddressHandle},
      {Fault::kLocalKey, EfaStatus::kLocalInvalidLkey},
      {Fault::kLocalLength, EfaStatus::kLocalBadLength},
      {Fault::kFlushed, EfaStatus::kFlushed},
      {Fault::kUnreachable, EfaStatus::kLocalUnreachablePeer},
  };
  for (const auto& [fault, status] : faults) {
    FaultRule rule = Rule(fault);
    rule.parameters.delay = 7us;
    Scene scene(rule);
    Operation& operation = scene.Start();
    const FetchVerdict verdict = scene.Fetch(operation);
    EXPECT_EQ(verdict.when, FetchVerdict::When::kNever);
    EXPECT_EQ(verdict.failure.status, status);
    EXPECT_EQ(verdict.failure.delay, 7us);
    EXPECT_TRUE(operation.faulted);
  }
}

TEST(FaultModelTest, WhatOnlyThePeerCanSayFailsThereBeforeAnythingIsPlaced) {
  const std::pair<Fault, EfaStatus> faults[] = {
      {Fault::kRemoteAddress, EfaStatus::kRemoteBadAddress},
      {Fault::kBadDestination, EfaStatus::kRemoteBadQueuePair},
      {Fault::kUnknownPeer, EfaStatus::kRemoteUnknownPeer},
      {Fault::kFeatureMismatch, EfaStatus::kRemoteFeatureMismatch},
  };
  for (const auto& [fault, status] : faults) {
    Scene scene(Rule(fault));
    Operation& operation = scene.Start();
    EXPECT_EQ(scene.Fetch(operation).when, FetchVerdict::When::kNow);
    const auto verdict = scene.model.OnArrival(scene.b.state, operation);
    ASSERT_TRUE(verdict.failure.has_value());
    EXPECT_EQ(verdict.failure->status, status);
    EXPECT_EQ(verdict.failure->delay, 20us);
    EXPECT_EQ(verdict.placed_bytes, 0u);
    EXPECT_FALSE(scene.model.OnWritten(operation));
  }
}

TEST(FaultModelTest, OperationThatIsPlacedAsAWholeFailsAtItsEnd) {
  const std::pair<Fault, EfaStatus> faults[] = {
      {Fault::kRemoteAbort, EfaStatus::kRemoteAbort},
      {Fault::kBadResponse, EfaStatus::kRemoteBadStatus},
      {Fault::kUnresponsive, EfaStatus::kLocalUnresponsivePeer},
  };
  for (const auto& [fault, status] : faults) {
    Scene scene(Rule(fault));
    Operation& operation = scene.Start();
    EXPECT_EQ(scene.Fetch(operation).when, FetchVerdict::When::kNow);
    EXPECT_FALSE(scene.model.OnArrival(scene.b.state, operation).failure.has_value());
    EXPECT_TRUE(scene.Place(operation, 0, 1000).as_usual);
    EXPECT_TRUE(scene.model.OnWritten(operation));
    const auto failure = scene.model.OnEnd(operation);
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->status, status);
  }
}

TEST(FaultModelTest, WriteIsCutByPacketAndAMessageAtItsArrival) {
  Scene scene(Placing(Fault::kRemoteAbort, 40));
  Operation& write = scene.Fetched();
  EXPECT_FALSE(scene.model.OnArrival(scene.b.state, write).failure.has_value());
  const sim::PlacementVerdict across = scene.Place(write, 300, 300);
  EXPECT_FALSE(across.as_usual);
  ASSERT_EQ(across.steps.size(), 1u);
  EXPECT_EQ(across.steps[0].range.offset, 300u);
  EXPECT_EQ(across.steps[0].range.length, 100u);
  EXPECT_EQ(scene.Place(write, 100, 200).steps.at(0).range.length, 200u);
  const sim::PlacementVerdict behind = scene.Place(write, 600, 400);
  EXPECT_FALSE(behind.as_usual);
  EXPECT_TRUE(behind.steps.empty());
  EXPECT_FALSE(scene.model.OnWritten(write));
  EXPECT_EQ(scene.model.OnEnd(write)->status, EfaStatus::kRemoteAbort);
  Operation& message = scene.Fetched(OperationKind::kSend);
  const auto verdict = scene.model.OnArrival(scene.b.state, message);
  EXPECT_EQ(verdict.failure->status, EfaStatus::kRemoteAbort);
  EXPECT_EQ(verdict.placed_bytes, 400u);
}

TEST(FaultModelTest, UnsoundWorkAndDatagramsHaveNoOutcomeOfThePlans) {
  Scene scene(Rule(Fault::kLocalKey));
  Operation& unsound = scene.Start();
  EXPECT_EQ(scene.Fetch(unsound, false).when, FetchVerdict::When::kNow);
  EXPECT_FALSE(unsound.faulted);
  Operation& datagram = scene.Start(OperationKind::kSend);
  datagram.datagram = true;
  EXPECT_EQ(scene.Fetch(datagram).when, FetchVerdict::When::kNow);
  EXPECT_FALSE(datagram.faulted);
}

TEST(FaultModelTest, UnsignalledErrorMeetsThePostWithoutContextOnce) {
  Scene scene(Rule(Fault::kUnsignalledError));
  Operation& bare = scene.Start();
  bare.request_id = 5;
  scene.model.OnPostWithoutContext(scene.from, 5);
  Operation& signalled = scene.Fetched();
  EXPECT_FALSE(signalled.faulted);
  scene.Fetch(bare);
  ASSERT_TRUE(bare.faulted);
  EXPECT_EQ(scene.model.OnArrival(scene.b.state, bare).failure->status,
            EfaStatus::kRemoteBadAddress);
  Operation& next = scene.Start();
  next.request_id = 5;  // the number is used again
  scene.Fetch(next);
  EXPECT_FALSE(next.faulted);
}

TEST(FaultModelTest, LostCompletionIsOfAnOperationThatSucceeds) {
  Scene scene(Rule(Fault::kLostCompletion));
  Operation& write = scene.Fetched();
  EXPECT_FALSE(scene.model.OnArrival(scene.b.state, write).failure.has_value());
  EXPECT_TRUE(scene.Place(write, 0, 1000).as_usual);
  EXPECT_TRUE(scene.model.OnWritten(write));
  EXPECT_FALSE(scene.model.OnEnd(write).has_value());
  EXPECT_EQ(scene.model.OnCompletion(write).when, CompletionVerdict::When::kNever);
}

// ---- Times ----

TEST(FaultModelTest, EachTimingFaultHasItsVerdictOnTheCompletion) {
  using When = CompletionVerdict::When;
  const std::pair<Fault, CompletionVerdict> faults[] = {
      {Fault::kDelayedCompletion, {.when = When::kLater, .delay = 100us}},
      {Fault::kSlowPeer, {.when = When::kLater, .delay = 1ms}},
      {Fault::kHeldCompletion, {.when = When::kAfterOthers, .delay = 1ms, .others = 4}},
      {Fault::kQueueOverrun, {.when = When::kOverrun}},
  };
  for (const auto& [fault, expected] : faults) {
    Scene scene(Rule(fault));
    const CompletionVerdict verdict = scene.model.OnCompletion(scene.Fetched());
    EXPECT_EQ(verdict.when, expected.when);
    EXPECT_EQ(verdict.delay, expected.delay);
    EXPECT_EQ(verdict.others, expected.others);
  }
}

TEST(FaultModelTest, CompletionOfUnsoundWorkMayBeLateToo) {
  Scene scene(Rule(Fault::kDelayedCompletion));
  Operation& unsound = scene.Start();
  EXPECT_EQ(scene.Fetch(unsound, false).when, FetchVerdict::When::kNow);
  ASSERT_TRUE(unsound.faulted);
  EXPECT_EQ(scene.model.OnCompletion(unsound).when, CompletionVerdict::When::kLater);
}

TEST(FaultModelTest, WorkIsServedLateOrBehindOthers) {
  Scene late(Rule(Fault::kLateSourceRead));
  const FetchVerdict later = late.Fetch(late.Start());
  EXPECT_EQ(later.when, FetchVerdict::When::kLater);
  EXPECT_EQ(later.delay, 50us);
  Scene reordered(Rule(Fault::kReorderedOperations));
  const FetchVerdict behind = reordered.Fetch(reordered.Start());
  EXPECT_EQ(behind.when, FetchVerdict::When::kAfterOthers);
  EXPECT_EQ(behind.others, 8);
  Operation& empty = reordered.Start(OperationKind::kWrite, 0);
  EXPECT_EQ(reordered.Fetch(empty).when, FetchVerdict::When::kNow);  // there is nothing to place
}

// ---- The network ----

TEST(FaultModelTest, EachMachineFaultHasItsVerdictOnTheDeparture) {
  EXPECT_FALSE(Scene(Rule(Fault::kLinkBlocked)).Depart().leaves);
  const sim::DepartureVerdict dies = Scene(Rule(Fault::kNicDies)).Depart();
  EXPECT_EQ(dies.machine, Machine::kNicDies);
  EXPECT_FALSE(dies.leaves);
  const sim::DepartureVerdict resets = Scene(Rule(Fault::kNicResets)).Depart();
  EXPECT_EQ(resets.machine, Machine::kNicResets);
  EXPECT_TRUE(resets.leaves);
  const sim::DepartureVerdict pauses = Scene(Rule(Fault::kNodePauses)).Depart();
  EXPECT_EQ(pauses.machine, Machine::kPauses);
  EXPECT_EQ(pauses.delay, 10ms);
  EXPECT_TRUE(pauses.leaves);
}

TEST(FaultModelTest, PacketWaitsForTheLinkUnlessPatienceEndsBefore) {
  FaultRule rule = Rule(Fault::kLinkFlap);
  rule.parameters.up = 100us;
  rule.parameters.down = 3ms;
  Scene scene(rule);
  scene.bench.RunFor(99us);
  EXPECT_TRUE(scene.Depart().leaves);
  EXPECT_EQ(scene.Depart().retransmissions, 0u);
  scene.bench.RunFor(1us);
  EXPECT_FALSE(scene.Depart().leaves);  // 3 ms are too long
  scene.bench.RunFor(1ms + 1us);
  const sim::DepartureVerdict waits = scene.Depart();
  EXPECT_TRUE(waits.leaves);
  EXPECT_EQ(waits.delay, 2ms - 1us);
  EXPECT_EQ(waits.retransmissions, 1u);
  scene.bench.RunFor(2ms - 1us);
  EXPECT_EQ(scene.Depart().retransmissions, 0u);  // up again
}

TEST(FaultModelTest, RequestIsSeenFromItsInitiatorAndAnAnswerFromTheTarget) {
  FaultRule rule = Rule(Fault::kLinkBlocked);
  rule.when.direction = fabric::faults::Direction::kTarget;
  Scene scene(rule);
  EXPECT_TRUE(scene.Depart(DrawPurpose::kRequest).leaves);
  EXPECT_FALSE(scene.Depart(DrawPurpose::kAnswer).leaves);
  EXPECT_FALSE(scene.Depart(DrawPurpose::kResponse).leaves);
}

TEST(FaultModelTest, EachPacketFaultChangesTheFlight) {
  FaultRule loss = Rule(Fault::kPacketLoss);
  loss.parameters.attempts = 2;
  Scene lossy(loss);
  const Flight lost = lossy.Fly(lossy.Start());
  EXPECT_TRUE(lost.arrives);
  EXPECT_EQ(lost.retransmissions, 2u);
  EXPECT_EQ(lost.delay, 10us + 2 * lossy.bench.profile.retransmit_delay);
  Scene slow(Rule(Fault::kSlowLink));
  EXPECT_EQ(slow.Fly(slow.Start()).delay, 100us);
  FaultRule slower = Rule(Fault::kSlowLink);
  slower.parameters.factor = 200;
  Scene stuck(slower);
  EXPECT_FALSE(stuck.Fly(stuck.Start()).arrives);  // 2 ms: the initiator has given up by then
}

// As long as a plan may say.
TEST(FaultModelTest, TheLongestDelayOnTheSlowestLinkDoesNotArrive) {
  FaultRule straggler = Rule(Fault::kStragglerWrite);
  straggler.parameters.delay = 24h;
  FaultRule slow = Rule(Fault::kSlowLink);
  slow.parameters.factor = 1'000'000;
  Scene scene({straggler, slow});
  const Flight flight = scene.Fly(scene.Fetched());
  EXPECT_FALSE(flight.arrives);
  EXPECT_GE(flight.delay, 24h);
}

TEST(FaultModelTest, StragglerIsLateOnItsWayThereOnly) {
  Scene scene(Rule(Fault::kStragglerWrite));
  Operation& write = scene.Fetched();
  EXPECT_EQ(scene.Fly(write).delay, 10us + 5ms);
  EXPECT_EQ(scene.Fly(write, DrawPurpose::kAnswer).delay, 10us);
}

TEST(FaultModelTest, ImmediateFloodRepeatsWhatTakesNoReceive) {
  Scene scene(Rule(Fault::kImmediateFlood));
  Operation& plain = scene.Start();
  scene.Fly(plain);
  EXPECT_FALSE(plain.faulted);
  Operation& write = scene.Start();
  write.has_immediate = true;
  scene.Fly(write);
  ASSERT_TRUE(write.faulted);
  sim::DeviceCompletion completion{.unsolicited = true};
  EXPECT_EQ(scene.model.OnImmediate(scene.b.state, write, completion).repeats, 16u);
  completion.unsolicited = false;
  EXPECT_EQ(scene.model.OnImmediate(scene.b.state, write, completion).repeats, 0u);
}

// ---- The target ----

TEST(FaultModelTest, ReceiveHasAFateOfItsOwn) {
  FaultRule rule = Rule(Fault::kFlushed, OperationKind::kReceive);
  rule.parameters.placed_percent = 30;
  rule.parameters.delay = 3us;
  Scene scene({rule, Rule(Fault::kDelayedCompletion, OperationKind::kReceive)});
  Operation& message = scene.Fetched(OperationKind::kSend);
  EXPECT_FALSE(message.faulted);
  const sim::ReceiveVerdict verdict = scene.model.OnReceive(scene.b.state, message);
  ASSERT_TRUE(verdict.failure.has_value());
  EXPECT_EQ(verdict.failure->status, EfaStatus::kFlushed);
  EXPECT_EQ(verdict.failure->delay, 3us);
  EXPECT_EQ(verdict.placed_bytes, 300u);
  EXPECT_EQ(verdict.completion.when, CompletionVerdict::When::kLater);
  Scene sends(Rule(Fault::kFlushed, OperationKind::kSend));
  Operation& sent = sends.Start(OperationKind::kSend);
  EXPECT_FALSE(sends.model.OnReceive(sends.b.state, sent).failure.has_value());
}

TEST(FaultModelTest, ImmediateArrivesAsAnErrorThatSaysNothing) {
  Scene scene(Rule(Fault::kRemoteWriteError));
  Operation& write = scene.Start();
  write.has_immediate = true;
  sim::DeviceCompletion completion{
      .has_immediate = true, .unsolicited = true, .immediate = 7, .length_bytes = 1000};
  const CompletionVerdict verdict = scene.model.OnImmediate(scene.b.state, write, completion);
  EXPECT_EQ(verdict.when, CompletionVerdict::When::kNow);
  EXPECT_EQ(completion.status, 5);
  EXPECT_EQ(completion.immediate, 0u);
  EXPECT_EQ(completion.length_bytes, 0u);
  EXPECT_TRUE(completion.has_immediate);
}

TEST(FaultModelTest, ImmediateIsLostOrLateWithoutBeingChanged) {
  Scene scene({Rule(Fault::kLostCompletion, OperationKind::kRemoteWrite)});
  Operation& write = scene.Fetched();
  sim::DeviceCompletion completion{.immediate = 7};
  EXPECT_EQ(scene.model.OnImmediate(scene.b.state, write, completion).when,
            CompletionVerdict::When::kNever);
  EXPECT_EQ(completion.immediate, 7u);
  EXPECT_FALSE(write.faulted);
  Scene late({Rule(Fault::kDelayedCompletion, OperationKind::kRemoteWrite)});
  EXPECT_EQ(late.model.OnImmediate(late.b.state, late.Start(), completion).delay, 100us);
}

// ---- Memory ----

TEST(FaultModelTest, LostPlacementPlacesNothingAndNobodyKnows) {
  Scene scene(Rule(Fault::kLostPlacement));
  Operation& write = scene.Fetched();
  const sim::PlacementVerdict verdict = scene.Place(write, 0, 1000);
  EXPECT_FALSE(verdict.as_usual);
  EXPECT_TRUE(verdict.steps.empty());
  EXPECT_TRUE(scene.model.OnWritten(write));
  EXPECT_FALSE(scene.model.OnEnd(write).has_value());
}

TEST(FaultModelTest, DuplicatePlacementPlacesTheRangeAgainLater) {
  FaultRule rule = Rule(Fault::kDuplicatePlacement);
  rule.parameters.copies = 2;
  Scene scene(rule);
  const sim::PlacementVerdict verdict = scene.Place(scene.Fetched(), 100, 200);
  EXPECT_FALSE(verdict.as_usual);
  EXPECT_EQ(verdict.second_copies, 2u);
  ASSERT_EQ(verdict.steps.size(), 3u);
  EXPECT_EQ(verdict.steps[0].later, 0us);
  EXPECT_EQ(verdict.steps[1].later, 5us);
  EXPECT_EQ(verdict.steps[2].later, 10us);
  for (const sim::PlacementStep& step : verdict.steps) {
    EXPECT_EQ(step.range.offset, 100u);
    EXPECT_EQ(step.range.length, 200u);
  }
}

TEST(FaultModelTest, CorruptPlacementFlipsTheSameBitsInWhateverPacketTheyAre) {
  FaultRule rule = Rule(Fault::kCorruptPlacement);
  rule.parameters.bits = 20;
  Scene scene(rule);
  Operation& write = scene.Fetched();
  std::set<std::uint64_t> bits;
  for (const std::uint64_t offset : {0, 500}) {
    const sim::PlacementVerdict verdict = scene.Place(write, offset, 500);
    EXPECT_FALSE(verdict.steps.empty());
    for (const sim::FlippedBits& flipped : verdict.flipped) {
      EXPECT_GE(flipped.byte, offset);
      EXPECT_LT(flipped.byte, offset + 500);
      bits.insert(flipped.byte << 8 | std::to_integer<std::uint64_t>(flipped.mask));
    }
  }
  EXPECT_EQ(bits.size(), 20u);
}

TEST(FaultModelTest, PiecesOfAPacketCoverItOnce) {
  for (const Fault fault : {Fault::kReorderedSegments, Fault::kTornPlacement, Fault::kMixedRead}) {
    FaultRule rule = Rule(fault);
    rule.parameters.bytes = 64;
    Scene scene(rule);
    const sim::PlacementVerdict verdict =
        scene.Place(scene.Fetched(OperationKind::kRead), 100, 300);
    EXPECT_FALSE(verdict.as_usual);
    ASSERT_EQ(verdict.steps.size(), 5u);
    std::set<coro::Duration> times;
    std::uint64_t at = 100;
    for (const sim::PlacementStep& step : verdict.steps) {
      EXPECT_EQ(step.range.offset, at);
      at += step.range.length;
      times.insert(step.later);
    }
    EXPECT_EQ(at, 400u);
    if (fault == Fault::kReorderedSegments) {
      EXPECT_GT(times.size(), 2u);
    } else {
      EXPECT_EQ(times, (std::set<coro::Duration>{0us, 10us}));  // in turn
      EXPECT_NE(verdict.steps[0].later, verdict.steps[1].later);
    }
  }
}

TEST(FaultModelTest, RegionClosesBeforeOneOfThePackets) {
  Scene scene(Rule(Fault::kRegionCloses));
  Operation& write = scene.Fetched(OperationKind::kWrite, 5 * 8928);
  int closes = 0;
  for (std::uint32_t packet = 0; packet < write.packets; ++packet) {
    const sim::Range range = write.PacketRange(packet);
    const sim::PlacementVerdict verdict = scene.Place(write, range.offset, range.length);
    EXPECT_TRUE(verdict.as_usual);
    closes += verdict.region_closes ? 1 : 0;
  }
  EXPECT_EQ(closes, 1);
}

TEST(FaultModelTest, PacketForAnotherProcessIsCutLostOrCorruptedAsHere) {
  Scene cut(Placing(Fault::kRemoteAbort, 40));
  Operation& write = cut.Fetched();
  EXPECT_EQ(cut.model.OnForward(write, {300, 300}).kept_bytes, 100u);
  EXPECT_EQ(cut.model.OnForward(write, {0, 300}).kept_bytes, 300u);
  EXPECT_EQ(cut.model.OnForward(write, {600, 400}).kept_bytes, 0u);
  EXPECT_FALSE(cut.model.OnForward(write, {0, 300}).announces);
  Scene lost(Rule(Fault::kLostPlacement));
  const sim::ForwardVerdict nothing = lost.model.OnForward(lost.Fetched(), {0, 300});
  EXPECT_EQ(nothing.kept_bytes, 0u);
  EXPECT_TRUE(nothing.announces);
  Scene corrupt(Rule(Fault::kCorruptPlacement));
  const sim::ForwardVerdict wrong = corrupt.model.OnForward(corrupt.Fetched(), {0, 1000});
  EXPECT_EQ(wrong.kept_bytes, 1000u);
  EXPECT_EQ(wrong.flipped.size(), 1u);
}

// ---- The driver ----

TEST(FaultModelTest, QueuesMayBecomeSmallerAndNeverLarger) {
  Scene scene({Rule(Fault::kSendQueueDepth), Rule(Fault::kReceiveQueueDepth),
               Rule(Fault::kInjectLimit), Rule(Fault::kCompletionQueueDepth)});
  fabric::Limits limits;
  limits.send_queue_depth = limits.receive_queue_depth = 64;
  limits.inject_bytes = limits.inject_rma_bytes = 32;
  scene.model.OnOpenEndpoint(scene.a.state, limits);
  EXPECT_EQ(limits.send_queue_depth, 8u);
  EXPECT_EQ(limits.receive_queue_depth, 8u);
  EXPECT_EQ(limits.inject_bytes, 0u);
  EXPECT_EQ(limits.inject_rma_bytes, 0u);
  limits.send_queue_depth = 4;
  scene.model.OnOpenEndpoint(scene.a.state, limits);
  EXPECT_EQ(limits.send_queue_depth, 4u);
  EXPECT_EQ(scene.model.OnOpenCompletionQueue(scene.a.state, 64), 8u);
  EXPECT_EQ(scene.model.OnOpenCompletionQueue(scene.a.state, 4), 4u);
  FaultRule odd = Rule(Fault::kCompletionQueueDepth);
  odd.parameters.entries = 11;
  Scene other(odd);
  EXPECT_EQ(other.model.OnOpenCompletionQueue(other.a.state, 64), 8u);  // a power of two
}

TEST(FaultModelTest, InsertedPeerIsKnownLater) {
  Scene scene(Rule(Fault::kLateIntroduction));
  EXPECT_EQ(scene.model.OnInsertPeer(scene.a.state, {.gid = scene.b.state.gid}), 1ms);
}

TEST(FaultModelTest, PlansNumberPeersInTheOrderOfTheirFirstInsertion) {
  FaultRule rule = Rule(Fault::kLocalKey);
  rule.when.peers = {1};
  Scene scene(rule);
  const sim::EfaAddress nobody{.gid = {1}};
  const sim::EfaAddress target{scene.b.state.gid, scene.to.number, scene.to.qkey};
  for (const sim::EfaAddress& address : {nobody, nobody, target}) {
    scene.model.OnInsertPeer(scene.a.state, address);
  }
  EXPECT_TRUE(scene.Fetched().faulted);
  Operation& another = scene.bench.Start(OperationKind::kWrite, scene.from, scene.from, 10);
  scene.Fetch(another);
  EXPECT_FALSE(another.faulted);
}

// Under efa-run: there libfabric has the address vectors.
TEST(FaultModelTest, PlansNumberPeersThatNobodyInsertedByTheFirstRequestToThem) {
  FaultRule rule = Rule(Fault::kLocalKey);
  rule.when.peers = {1};
  Scene scene(rule);
  sim::QueuePair& third = scene.b.OpenQueuePair();
  const auto is_faulted = [&](sim::QueuePair& to, bool sound = true) {
    Operation& operation = scene.bench.Start(OperationKind::kWrite, scene.from, to, 10);
    scene.Fetch(operation, sound);
    return operation.faulted;
  };
  EXPECT_FALSE(is_faulted(scene.from, /*sound=*/false));  // it goes nowhere
  EXPECT_FALSE(is_faulted(scene.to));
  EXPECT_FALSE(is_faulted(scene.to));
  EXPECT_TRUE(is_faulted(third));
  EXPECT_FALSE(is_faulted(scene.from));
  EXPECT_FALSE(is_faulted(scene.to));
  EXPECT_TRUE(is_faulted(third));
}

TEST(FaultModelTest, PlanMayNameAQueuePairByItsOrdinal) {
  FaultRule rule = Rule(Fault::kLocalKey);
  rule.when.queues = {1};
  Scene scene(rule);
  sim::QueuePair& second = scene.a.OpenQueuePair();
  EXPECT_FALSE(scene.Fetched().faulted);
  Operation& operation = scene.bench.Start(OperationKind::kWrite, second, scene.to, 10);
  scene.model.OnFetch(second, operation, true);
  EXPECT_TRUE(operation.faulted);
}

}  // namespace
}  // namespace drydock::sim_testing
