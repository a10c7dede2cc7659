// Completions that come late, in another order, or a few at a time.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drydock/testing/faults/faulty_scene.h"
#include "drydock/testing/mocks/mock_fabric.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::faults {
namespace {

using namespace std::chrono_literals;
using ::testing::Return;
using ::testing::ReturnRef;

std::uint64_t ContextOf(const Completion& completion) {
  return static_cast<std::uint64_t>(completion.context.value());
}

// A nanosecond passes whenever somebody looks.
class TickingClock final : public coro::Clock {
 public:
  coro::Time Now() const override { return now_ += 1ns; }
  bool WaitUntil(coro::Time) override { return true; }
  bool IsVirtual() const override { return true; }
  void Advance(coro::Duration duration) { now_ += duration; }

 private:
  mutable coro::Time now_ = coro::Time() + 1s;
};

// A rule's window ends between the question whether an operation will fail and its decision: it is
// posted, or it fails, and ends once either way.
TEST(QueueFaultsTest, AWindowThatEndsWhileAPostIsDecidedHarmsNothing) {
  for (int end = 1; end <= 60; ++end) {
    FaultRule rule = FaultRule::Of(Fault::kRemoteAddress);
    rule.parameters.placed_percent = 0;
    rule.when.window = Window{.from = {}, .to = std::chrono::nanoseconds(end)};
    FaultyScene scene(PlanOf({FaultRule::Of(Fault::kEmptyRead)}));
    TickingClock clock;
    FaultySide side;
    side.fabric =
        OpenFaultyFabric(
            sim::OpenSimFabric(scene.world, scene.world.AddNode("a third")),
            {.engine = EngineOf(PlanOf({rule})), .clock = &clock, .wake_at = [&](coro::Time) {}})
            .value();
    static_cast<OpenedNic&>(side) = OpenNic(*side.fabric).value();
    side.memory.assign(64, std::byte{0});
    side.region =
        side.domain->RegisterMemory({.data = side.memory.data(), .length_bytes = 64}).value();
    const Peer target = side.peers->Insert(scene.target.endpoint->address()).value();
    for (std::uint64_t i = 0; i < 12; ++i) {
      ASSERT_EQ(side.endpoint->Write({.source = side.region->Local(0, 64),
                                      .target = scene.target.region->remote(),
                                      .peer = target,
                                      .context = Context{i}}),
                ErrorCode::kOk);
    }
    for (int turn = 0; turn < 1000; ++turn) {
      scene.ReadQueue(side);
      scene.world.timeline().RunFor(1us);
      clock.Advance(1us);
    }
    std::set<std::uint64_t> ended;
    for (const Completion& completion : side.completions) ended.insert(ContextOf(completion));
    EXPECT_EQ(ended.size(), 12u) << "the window ends after " << end << " ns";
    EXPECT_EQ(side.completions.size(), 12u) << "the window ends after " << end << " ns";
  }
}

TEST(QueueFaultsTest, ReadsAreShort) {
  FaultRule rule = FaultRule::Of(Fault::kShortRead);
  rule.parameters.entries = 2;
  FaultyScene scene(PlanOf({rule}));
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(scene.Write(i), ErrorCode::kOk);
  scene.world.timeline().RunFor(10ms);
  EXPECT_EQ(scene.ReadQueue(scene.initiator), 2u);
  EXPECT_EQ(scene.ReadQueue(scene.initiator), 2u);
  EXPECT_EQ(scene.ReadQueue(scene.initiator), 1u);
  EXPECT_EQ(scene.ReadQueue(scene.initiator), 0u);
}

TEST(QueueFaultsTest, EmptyReadIsNotTheEnd) {
  FaultRule rule = FaultRule::Of(Fault::kEmptyRead);
  rule.when.every = 2;
  FaultyScene scene(PlanOf({rule}));
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_EQ(scene.Write(i), ErrorCode::kOk);
  scene.Run();  // sleeps where nothing came, and must be woken
  EXPECT_EQ(scene.initiator.completions.size(), 40u);
  EXPECT_GT(scene.Report().fired, 0u);
}

TEST(QueueFaultsTest, CompletionIsSeenLater) {
  FaultRule rule = FaultRule::Of(Fault::kDelayedCompletion);
  rule.parameters.delay = 5ms;
  rule.parameters.jitter = 1ms;
  rule.when.nth = 2;
  FaultyScene scene(PlanOf({rule}));
  const coro::Time start = scene.world.Now();
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  EXPECT_EQ(scene.Write(2), ErrorCode::kOk);
  EXPECT_TRUE(scene.Take(scene.initiator, 1).ok());
  EXPECT_LT(scene.world.Now() - start, 5ms);
  EXPECT_TRUE(scene.Take(scene.initiator, 2).ok());
  EXPECT_GE(scene.world.Now() - start, 5ms);
  EXPECT_LT(scene.world.Now() - start, 7ms);
}

TEST(QueueFaultsTest, CompletionOfAPeersWriteIsSeenLater) {
  FaultRule rule = FaultRule::Of(Fault::kDelayedCompletion);
  rule.when.operations = {OperationKind::kRemoteWrite};
  rule.when.direction = Direction::kTarget;
  rule.parameters.delay = 5ms;
  FaultyScene scene(PlanOf({rule}), true);
  const coro::Time start = scene.world.Now();
  WriteRequest request = scene.WriteOf(Context{1});
  request.immediate = 5;
  EXPECT_EQ(scene.initiator.endpoint->Write(request), ErrorCode::kOk);
  scene.Run([&] { return !scene.target.completions.empty(); });
  ASSERT_EQ(scene.target.completions.size(), 1u);
  EXPECT_EQ(scene.target.completions[0].immediate, 5u);
  EXPECT_GE(scene.world.Now() - start, 5ms);
}

TEST(QueueFaultsTest, HeldCompletionIsSeenAfterLaterOnes) {
  FaultRule rule = FaultRule::Of(Fault::kHeldCompletion);
  rule.parameters.behind = 3;
  rule.parameters.delay = 500ms;
  rule.when.nth = 1;
  FaultyScene scene(PlanOf({rule}));
  EXPECT_EQ(scene.Write(0), ErrorCode::kOk);
  scene.world.timeline().RunFor(1ms);
  EXPECT_EQ(scene.ReadQueue(scene.initiator), 0u);
  for (std::uint64_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(scene.Write(i), ErrorCode::kOk);
    scene.world.timeline().RunFor(1ms);
    scene.ReadQueue(scene.initiator);
  }
  ASSERT_EQ(scene.initiator.completions.size(), 6u);
  EXPECT_EQ(ContextOf(scene.initiator.completions[3]), 0u);
}

TEST(QueueFaultsTest, HeldCompletionIsSeenInTheEnd) {
  FaultRule rule = FaultRule::Of(Fault::kHeldCompletion);
  rule.parameters.delay = 3ms;
  FaultyScene scene(PlanOf({rule}));
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  const coro::Time start = scene.world.Now();
  EXPECT_TRUE(scene.Take(scene.initiator, 1).ok());
  EXPECT_GE(scene.world.Now() - start, 3ms);
}

TEST(QueueFaultsTest, OnlyTheSlowPeerIsSlow) {
  FaultRule rule = FaultRule::Of(Fault::kSlowPeer);
  rule.when.peers = {1};
  rule.parameters.delay = 20ms;
  FaultyScene scene(PlanOf({rule}));
  FaultySide third;
  scene.Open(third, "third", false);
  ASSERT_TRUE(third.peers->Insert(scene.initiator.endpoint->address()).ok());
  WriteRequest slow = scene.WriteOf(Context{2});
  slow.peer = scene.initiator.peers->Insert(third.endpoint->address()).value();
  slow.target = third.region->remote();
  const coro::Time start = scene.world.Now();
  EXPECT_EQ(scene.initiator.endpoint->Write(slow), ErrorCode::kOk);
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  EXPECT_TRUE(scene.Take(scene.initiator, 1).ok());
  EXPECT_LT(scene.world.Now() - start, 20ms);
  EXPECT_TRUE(scene.Take(scene.initiator, 2).ok());
  EXPECT_GE(scene.world.Now() - start, 20ms);
}

TEST(QueueFaultsTest, FailureCanComeLateToo) {
  FaultRule fail = FaultRule::Of(Fault::kUnknownPeer);
  FaultRule late = FaultRule::Of(Fault::kDelayedCompletion);
  late.parameters.delay = 30ms;
  FaultyScene scene(PlanOf({fail, late}));
  const coro::Time start = scene.world.Now();
  EXPECT_EQ(scene.Write(1), ErrorCode::kOk);
  EXPECT_EQ(scene.Take(scene.initiator, 1).error, ErrorCode::kUnknownPeer);
  EXPECT_GE(scene.world.Now() - start, 30ms);
}

// Rules that never match, and a decorator without rules, leave the run as it was, event for event.
TEST(QueueFaultsTest, WhatNeverMatchesChangesNothing) {
  FaultRule never = FaultRule::Of(Fault::kRemoteAbort);
  never.when.peers = {99};
  FaultRule never_read = FaultRule::Of(Fault::kShortRead);
  never_read.when.queues = {99};
  std::vector<sim::Digest> digests;
  for (const FaultPlan& plan : {PlanOf({}), PlanOf({never, never_read})}) {
    FaultyScene scene(plan, true, 5);
    for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(scene.Write(i), ErrorCode::kOk);
    scene.Run();
    EXPECT_EQ(scene.initiator.completions.size(), 50u);
    digests.push_back(scene.world.digest());
  }
  EXPECT_EQ(digests[0], digests[1]);
}

// The world's seed and the plan's give the run: the same twice, another one otherwise.
TEST(QueueFaultsTest, RunIsAFunctionOfItsSeed) {
  const auto order = [](std::uint64_t seed) {
    FaultRule held = FaultRule::Of(Fault::kHeldCompletion);
    held.when.probability = 0.3;
    FaultyScene scene(PlanOf({held}), false, seed);
    for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(scene.Write(i), ErrorCode::kOk);
    scene.Run();
    std::vector<std::uint64_t> contexts;
    for (const Completion& each : scene.initiator.completions) contexts.push_back(ContextOf(each));
    return contexts;
  };
  EXPECT_EQ(order(1).size(), 50u);
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

// ---- Sleeping: the simulator's queues cannot ----

class SleepyQueue final : public CompletionQueue, public BlockingWait {
 public:
  ReadResult Read(std::span<Completion> entries) override {
    const std::size_t count = std::min({entries.size(), ready, most_at_once});
    for (Completion& entry : entries.first(count)) entry = next;
    ready -= count;
    return {count, ErrorCode::kOk};
  }
  std::string ErrorText(const Completion&) override { return "below"; }
  std::size_t depth() const override { return 8; }
  absl::Status Close() override { return absl::OkStatus(); }
  void* QueryPower(const PowerId& power) override {
    return &power == &BlockingWait::kPower ? static_cast<BlockingWait*>(this) : nullptr;
  }
  void Wait(coro::Time deadline) override { deadlines.push_back(deadline); }

  std::size_t ready = 0;
  std::size_t most_at_once = SIZE_MAX;
  Completion next{.context = Context{1}, .kind = OperationKind::kTaggedSend};
  std::vector<coro::Time> deadlines;  // of each sleep
};

struct SleepyScene {
  explicit SleepyScene(FaultPlan plan) : engine(EngineOf(std::move(plan))) {
    auto raw_queue = std::make_unique<SleepyQueue>();
    queue_below = raw_queue.get();
    auto domain = std::make_unique<::testing::NiceMock<MockDomain>>();
    ON_CALL(*domain, nic).WillByDefault(ReturnRef(nic));
    EXPECT_CALL(*domain, OpenCompletionQueue)
        .WillOnce([&raw_queue](const CompletionQueueOptions&)
                      -> absl::StatusOr<std::unique_ptr<CompletionQueue>> {
          return std::move(raw_queue);
        });
    ON_CALL(*domain, OpenAddressVector).WillByDefault([] {
      auto peers = std::make_unique<::testing::NiceMock<MockAddressVector>>();
      ON_CALL(*peers, Insert).WillByDefault(Return(Peer{5}));
      return absl::StatusOr<std::unique_ptr<AddressVector>>(std::move(peers));
    });
    ON_CALL(*domain, OpenEndpoint).WillByDefault([this](const EndpointOptions&) {
      auto endpoint = std::make_unique<::testing::NiceMock<MockEndpoint>>();
      ON_CALL(*endpoint, Write).WillByDefault([this](std::span<const WriteRequest> requests) {
        posted = requests.front().context;
        return PostResult{1, ErrorCode::kOk};
      });
      return absl::StatusOr<std::unique_ptr<Endpoint>>(std::move(endpoint));
    });
    auto fabric = std::make_unique<::testing::NiceMock<MockFabric>>();
    ON_CALL(*fabric, nics).WillByDefault(Return(std::span<const NicInfo>(&nic, 1)));
    EXPECT_CALL(*fabric, OpenDomain)
        .WillOnce([&domain](std::size_t) -> absl::StatusOr<std::unique_ptr<Domain>> {
          return std::move(domain);
        });
    faulty = OpenFaultyFabric(std::move(fabric), {.engine = engine, .clock = &world}).value();
    opened = faulty->OpenDomain(0).value();
    queue = opened->OpenCompletionQueue({}).value();
    wait = queue->power<BlockingWait>();
  }

  std::shared_ptr<FaultEngine> engine;
  sim::World world{1, **sim::FindProfile("small")};
  NicInfo nic{.name = "nic0"};
  SleepyQueue* queue_below = nullptr;
  std::unique_ptr<Fabric> faulty;
  std::unique_ptr<Domain> opened;
  std::unique_ptr<CompletionQueue> queue;
  BlockingWait* wait = nullptr;
  std::optional<Context> posted;  // of the last write that reached the endpoint below
};

// Some providers report what became of the requests of a closed endpoint: under a plan those
// reports are dropped, whatever context the next endpoint uses.
TEST(ClosingFaultsTest, LateNewsOfAClosedEndpointIsNotSeen) {
  FaultRule rule = FaultRule::Of(Fault::kRemoteAbort);
  rule.when.nth = 100;
  SleepyScene scene(PlanOf({rule}));
  auto peers = scene.opened->OpenAddressVector().value();
  const Peer peer = peers->Insert({}).value();
  const auto open = [&] {
    return scene.opened
        ->OpenEndpoint({.send_queue = scene.queue.get(),
                        .receive_queue = scene.queue.get(),
                        .address_vector = peers.get()})
        .value();
  };
  auto first = open();
  ASSERT_EQ(first->Write(WriteRequest{.peer = peer, .context = Context{1}}), ErrorCode::kOk);
  scene.queue_below->next = {.context = scene.posted, .kind = OperationKind::kWrite};
  first.reset();
  auto second = open();
  ASSERT_EQ(second->Write(WriteRequest{.peer = peer, .context = Context{2}}), ErrorCode::kOk);
  scene.queue_below->ready = 1;
  std::array<Completion, 8> entries;
  EXPECT_EQ(scene.queue->Read(entries).count, 0u);
  scene.queue_below->next.context = scene.posted;
  scene.queue_below->ready = 1;
  ASSERT_EQ(scene.queue->Read(entries).count, 1u);
  EXPECT_EQ(entries[0].context, Context{2});
}

// A receive's memory is free to go when its endpoint has closed.
TEST(ClosingFaultsTest, AReceiveThatIsHeldEndsWithItsEndpoint) {
  FaultRule rule = FaultRule::Of(Fault::kDelayedCompletion);
  rule.when.operations = {OperationKind::kReceive};
  rule.parameters.delay = 1us;
  SleepyScene scene(PlanOf({rule}));
  auto peers = scene.opened->OpenAddressVector().value();
  std::array<Completion, 8> entries;
  for (const bool closes : {false, true}) {
    auto endpoint = scene.opened
                        ->OpenEndpoint({.send_queue = scene.queue.get(),
                                        .receive_queue = scene.queue.get(),
                                        .address_vector = peers.get()})
                        .value();
    scene.queue_below->next = {.context = Context{1}, .kind = OperationKind::kReceive};
    scene.queue_below->ready = 1;
    EXPECT_EQ(scene.queue->Read(entries).count, 0u);
    if (closes) EXPECT_TRUE(endpoint->Close().ok());
    scene.world.timeline().RunFor(1ms);
    EXPECT_EQ(scene.queue->Read(entries).count, closes ? 0u : 1u);
  }
}

TEST(WaitFaultsTest, SleeperWakesForNothing) {
  FaultRule rule = FaultRule::Of(Fault::kSpuriousWake);
  rule.when.every = 2;
  SleepyScene scene(PlanOf({rule}));
  ASSERT_NE(scene.wait, nullptr);
  for (int i = 0; i < 4; ++i) scene.wait->Wait(coro::kNever);
  EXPECT_EQ(scene.queue_below->deadlines, std::vector<coro::Time>(2, coro::kNever));
}

TEST(WaitFaultsTest, NobodySleepsOverWhatAShortReadLeft) {
  SleepyScene scene(PlanOf({FaultRule::Of(Fault::kShortRead)}));
  scene.queue_below->ready = 2;
  std::array<Completion, 8> entries;
  EXPECT_EQ(scene.queue->Read(entries).count, 1u);
  scene.wait->Wait(coro::kNever);
  EXPECT_TRUE(scene.queue_below->deadlines.empty());
  EXPECT_EQ(scene.queue->Read(entries).count, 1u);
  EXPECT_EQ(scene.queue->Read(entries).count, 0u);
  scene.wait->Wait(coro::kNever);
  EXPECT_EQ(scene.queue_below->deadlines.size(), 1u);
}

// A read of which a rule takes everything out goes on: to the program it would look like an empty
// queue, and it would go to sleep.
TEST(WaitFaultsTest, QueueDoesNotLookEmptyForWhatWasTakenOut) {
  FaultRule rule = FaultRule::Of(Fault::kLostCompletion);
  rule.when.max = 3;
  SleepyScene scene(PlanOf({rule}));
  scene.queue_below->ready = 5;
  scene.queue_below->most_at_once = 1;
  std::array<Completion, 8> entries;
  EXPECT_EQ(scene.queue->Read(entries).count, 1u);
  EXPECT_EQ(scene.queue->Read(entries).count, 1u);
  EXPECT_EQ(scene.queue->Read(entries).count, 0u);
}

TEST(WaitFaultsTest, SleepEndsWhenAHeldCompletionIsDue) {
  FaultRule rule = FaultRule::Of(Fault::kDelayedCompletion);
  rule.parameters.delay = 7ms;
  rule.when.operations = {OperationKind::kTaggedSend};
  SleepyScene scene(PlanOf({rule}));
  scene.queue_below->ready = 1;
  std::array<Completion, 8> entries;
  EXPECT_EQ(scene.queue->Read(entries).count, 0u);
  scene.wait->Wait(coro::kNever);
  EXPECT_EQ(scene.queue_below->deadlines, std::vector<coro::Time>{scene.world.Now() + 7ms});
  scene.world.timeline().RunFor(7ms);
  scene.wait->Wait(coro::kNever);  // there is something to read
  EXPECT_EQ(scene.queue_below->deadlines.size(), 1u);
  EXPECT_EQ(scene.queue->Read(entries).count, 1u);
}

}  // namespace
}  // namespace drydock::fabric::faults
