// Two hosts of one network, in one process: operations between them, and how they fail.

#include "drydock/sim/hosts/host.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"
#include "drydock/sim/device/completion_counters.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/hosts/testing/station.h"
#include "drydock/sim/hosts/testing/workout.h"
#include "drydock/sim/profile/profile.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

namespace efa = fabric::efa_queue;
using sim::EfaStatus;

int Number(EfaStatus status) { return static_cast<int>(status); }

// How payload travels.
enum class Bytes { kAcross, kInMessages };

class HostTest : public testing::TestWithParam<Bytes> {
 protected:
  StationOptions Options(const sim::Profile& profile = StationProfile()) const {
    StationOptions options;
    options.fabric = fabric_;
    options.cross_memory = GetParam() == Bytes::kAcross;
    options.profile = &profile;
    return options;
  }

  // Two programs work at once.
  void Exchange(const sim::Profile& profile) const {
    StationOptions options = Options(profile);
    options.memory_bytes = kWorkoutBytes;
    Station a(options);
    Station b(options);
    PrepareToServe(b);
    b.Introduce(a.address().gid);
    std::atomic<bool> stop = false;
    WorkoutTally served;
    std::thread program(
        [&] { served = ServeWorkout(b, [&](const WorkoutTally&) { return stop.load(); }); });
    const WorkoutTally done = RunWorkout(a, b.address(), 2000, 5);
    stop = true;
    program.join();
    while (b.Poll().has_value()) ++served.messages;  // or an immediate
    EXPECT_GE(served.messages + served.immediates, done.messages);
  }

  const std::string fabric_ = FreshFabric();
};

INSTANTIATE_TEST_SUITE_P(BothWays, HostTest, testing::Values(Bytes::kAcross, Bytes::kInMessages),
                         [](const auto& way) {
                           return std::string(way.param == Bytes::kAcross ? "Across"
                                                                          : "InMessages");
                         });

TEST_P(HostTest, AMessageTakesAReceive) {
  Station a(Options());
  Station b(Options());
  const std::uint16_t known = b.Introduce(a.address().gid);
  a.Fill(0, 8000, 7);
  b.PostReceive(100, 8928, 55);
  const std::uint16_t sent = a.Post(b.address(), {.length = 8000, .immediate = 0xabcd});
  const efa::Completion received = b.Wait();
  EXPECT_EQ(received.status, efa::CompletionStatus::kOk);
  EXPECT_EQ(received.request_id, 55u);
  EXPECT_EQ(received.length, 8000u);
  EXPECT_EQ(received.immediate, 0xabcdu);
  EXPECT_EQ(received.source_queue_pair, a.address().queue_pair);
  EXPECT_EQ(received.address_handle, known);
  EXPECT_TRUE(b.Holds(100, 8000, 7));
  EXPECT_EQ(a.StatusOf(sent), 0);
}

// No two runs are equal: nobody could read it.
TEST_P(HostTest, KeepsNoLog) {
  Station a(Options());
  Station b(Options());
  b.Introduce(a.address().gid);
  b.PostReceive(0, 8928, 1);
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.length = 8000})), 0);
  for (Station* station : {&a, &b}) {
    const std::lock_guard lock(station->host().mutex());
    EXPECT_GT(station->host().world().timeline().event_count(), 0u);
    EXPECT_EQ(station->host().world().log().count(), 0u);
  }
}

TEST_P(HostTest, AWriteOfManyPacketsAnnouncesItsImmediate) {
  Station a(Options());
  Station b(Options());
  b.Introduce(a.address().gid);
  a.Fill(4096, 300000, 8);
  const std::uint16_t written = a.Post(b.address(), {.operation = efa::Operation::kWrite,
                                                     .local = 4096,
                                                     .remote = 64,
                                                     .length = 300000,
                                                     .immediate = 99});
  const efa::Completion told = b.Wait();
  EXPECT_EQ(told.operation, efa::Operation::kWrite);
  EXPECT_TRUE(told.unsolicited);
  EXPECT_EQ(told.immediate, 99u);
  EXPECT_EQ(told.length, 300000u);
  EXPECT_TRUE(b.Holds(64, 300000, 8));
  EXPECT_EQ(a.StatusOf(written), 0);
  const sim::HostCounters counters = b.counters();
  if (GetParam() == Bytes::kAcross) {
    EXPECT_GE(counters.bytes_across, 290000u);
  } else {
    EXPECT_GE(counters.bytes_in_messages, 300000u);
    EXPECT_EQ(counters.bytes_across, 0u);
  }
}

TEST_P(HostTest, AnImmediateIsRefusedWhereTheTwoEndsDoNotAgree) {
  Station a(Options());
  StationOptions options = Options();
  options.unsolicited_immediates = false;
  Station b(options);
  b.Introduce(a.address().gid);
  b.PostReceive(0, 100, 55);
  EXPECT_EQ(
      a.StatusOf(a.Post(
          b.address(),
          {.operation = efa::Operation::kWrite, .remote = 4096, .length = 100, .immediate = 99})),
      Number(EfaStatus::kRemoteFeatureMismatch));
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.length = 50})), 0);
  EXPECT_EQ(b.Wait().request_id, 55u);  // a message takes the receive
}

TEST_P(HostTest, AReadBringsWhatIsThere) {
  Station a(Options());
  Station b(Options());
  b.Introduce(a.address().gid);
  b.Fill(512, 200000, 9);
  const std::uint16_t read =
      a.Post(b.address(),
             {.operation = efa::Operation::kRead, .local = 8, .remote = 512, .length = 200000});
  EXPECT_EQ(a.StatusOf(read), 0);
  EXPECT_TRUE(a.Holds(8, 200000, 9));
}

TEST_P(HostTest, AReadIsCountedByTheProcessWhoseBytesItTakes) {
  constexpr auto kReads = static_cast<std::size_t>(sim::CounterKind::kRemoteReads);
  const auto ours = std::make_shared<sim::CounterCore>();
  const auto theirs = std::make_shared<sim::CounterCore>();
  StationOptions options = Options();
  options.counters[kReads] = ours;
  Station a(options);
  options.counters[kReads] = theirs;
  Station b(options);
  b.Introduce(a.address().gid);
  EXPECT_EQ(a.StatusOf(a.Post(b.address(),
                              {.operation = efa::Operation::kRead, .remote = 8, .length = 200000})),
            0);
  const std::scoped_lock lock(a.host().mutex(), b.host().mutex());
  EXPECT_EQ(ours->value, 0u);
  EXPECT_EQ(theirs->value, 1u);
}

// No program can see their packets: a long operation takes as few messages as it can.
TEST_P(HostTest, WithoutDelaysLongOperationsTakeFewMessages) {
  constexpr std::uint32_t kLength = (5 << 19) + 7;  // 2.5 MiB
  const sim::Profile profile = sim::WithoutDelays(StationProfile());
  StationOptions options = Options(profile);
  options.memory_bytes = 4 << 20;
  Station a(options);
  Station b(options);
  b.Introduce(a.address().gid);
  a.Fill(4096, kLength, 8);
  EXPECT_EQ(
      a.StatusOf(a.Post(
          b.address(),
          {.operation = efa::Operation::kWrite, .local = 4096, .remote = 64, .length = kLength})),
      0);
  EXPECT_TRUE(b.Holds(64, kLength, 8));
  const std::uint64_t of_write = a.counters().messages_sent;
  b.Fill(64, kLength, 9);
  EXPECT_EQ(a.StatusOf(a.Post(
                b.address(),
                {.operation = efa::Operation::kRead, .local = 1, .remote = 64, .length = kLength})),
            0);
  EXPECT_TRUE(a.Holds(1, kLength, 9));
  const std::uint64_t of_read = b.counters().messages_sent;
  const std::uint64_t packets = kLength / profile.device.mtu;
  EXPECT_LT(of_write, GetParam() == Bytes::kAcross ? 8 : packets / 2);
  EXPECT_LT(of_read, GetParam() == Bytes::kAcross ? 8 : packets / 2);
  const sim::HostCounters counters = b.counters();
  EXPECT_EQ(counters.bytes_across, GetParam() == Bytes::kAcross ? kLength : 0u);
  // The device counts the packets that EFA would send.
  EXPECT_GT(b.device_counters().rx_pkts, packets);
  EXPECT_GT(a.device_counters().rx_pkts, packets);
}

// Hosts with delays and hosts without are one network.
TEST_P(HostTest, OneOfThemMayHaveDelays) {
  const sim::Profile profile = sim::WithoutDelays(StationProfile());
  for (const bool initiator_has : {false, true}) {
    Station a(initiator_has ? Options() : Options(profile));
    Station b(initiator_has ? Options(profile) : Options());
    b.Introduce(a.address().gid);
    a.Fill(4096, 300000, 8);
    EXPECT_EQ(
        a.StatusOf(a.Post(
            b.address(),
            {.operation = efa::Operation::kWrite, .local = 4096, .remote = 64, .length = 300000})),
        0);
    EXPECT_TRUE(b.Holds(64, 300000, 8));
    EXPECT_EQ(
        a.StatusOf(a.Post(
            b.address(),
            {.operation = efa::Operation::kRead, .local = 1, .remote = 64, .length = 300000})),
        0);
    EXPECT_TRUE(a.Holds(1, 300000, 8));
  }
}

TEST_P(HostTest, EmptyOperationsHaveTheirEnds) {
  Station a(Options());
  Station b(Options());
  b.Introduce(a.address().gid);
  b.PostReceive(0, 16, 1);
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.length = 0, .is_inline = true})), 0);
  EXPECT_EQ(b.Wait().length, 0u);
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.operation = efa::Operation::kWrite, .length = 0})), 0);
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.operation = efa::Operation::kRead, .length = 0})), 0);
}

TEST_P(HostTest, InlineBytesTravelWithTheRequest) {
  Station a(Options());
  Station b(Options());
  a.Fill(0, 32, 4);
  b.PostReceive(0, 64, 1);
  const std::uint16_t sent = a.Post(b.address(), {.length = 32, .is_inline = true});
  a.Fill(0, 32, 5);
  EXPECT_EQ(a.StatusOf(sent), 0);
  EXPECT_EQ(b.Wait().length, 32u);
  EXPECT_TRUE(b.Holds(0, 32, 4));
}

TEST_P(HostTest, DatagramsArriveOrDoNot) {
  StationOptions options = Options(CalmStationProfile());
  options.type = sim::QueuePairType::kUd;
  Station a(options);
  Station b(options);
  a.Fill(0, 5000, 3);
  b.PostReceive(0, 8928, 1);
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.length = 5000})), 0);
  EXPECT_EQ(b.Wait().length, 5000u + sim::kDatagramPrefixBytes);
  EXPECT_TRUE(b.Holds(sim::kDatagramPrefixBytes, 5000, 3));
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.length = 5000})), 0);  // no receive: we are not told
  b.PollUntil([&] {
    EXPECT_FALSE(b.Poll().has_value());
    return b.device_counters().rx_drops == 1;
  });
}

// ---- How it fails ----

TEST_P(HostTest, AMessageWaitsForAReceiveForEver) {
  Station a(Options());
  Station b(Options());
  a.Fill(0, 700, 6);
  const std::uint16_t sent = a.Post(b.address(), {.length = 700});
  b.PollUntil([&] {
    EXPECT_FALSE(b.Poll().has_value());
    return b.device_counters().rx_drops > 0;
  });
  EXPECT_FALSE(a.Poll().has_value());
  b.PostReceive(0, 700, 1);
  EXPECT_EQ(a.StatusOf(sent), 0);
  EXPECT_EQ(b.Wait().length, 700u);
  EXPECT_TRUE(b.Holds(0, 700, 6));
}

TEST_P(HostTest, AMessageGivesUpLookingForAReceive) {
  StationOptions options = Options();
  options.rnr_retries = 2;
  Station a(options);
  Station b(Options());
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.length = 700})), Number(EfaStatus::kRemoteNotReady));
  EXPECT_EQ(b.device_counters().rx_drops, 3u);
}

TEST_P(HostTest, AMessageIsLongerThanItsReceive) {
  Station a(Options());
  Station b(Options());
  b.PostReceive(0, 100, 1);
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.length = 101})), Number(EfaStatus::kRemoteBadLength));
}

TEST_P(HostTest, AWriteWithABadKeyPlacesNothing) {
  Station a(Options());
  Station b(Options());
  b.Introduce(a.address().gid);
  a.Fill(0, 100000, 2);
  StationAddress wrong = b.address();
  wrong.key ^= 1u << 20;
  const StationWork work{.operation = efa::Operation::kWrite, .length = 100000};
  EXPECT_EQ(a.StatusOf(a.Post(wrong, work)), Number(EfaStatus::kRemoteBadAddress));
  StationWork beyond = work;
  beyond.remote = b.memory().size() - 50000;
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), beyond)), Number(EfaStatus::kRemoteBadAddress));
  EXPECT_EQ(a.StatusOf(a.Post(wrong, {.operation = efa::Operation::kRead, .length = 100000})),
            Number(EfaStatus::kRemoteBadAddress));
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), work)), 0);  // and the next one is not hurt
  EXPECT_TRUE(b.Holds(0, 100000, 2));
}

TEST_P(HostTest, NobodyHasTheQueuePairOrTheQkey) {
  Station a(Options());
  Station b(Options());
  b.Introduce(a.address().gid);
  StationAddress wrong = b.address();
  wrong.qkey ^= 1;
  EXPECT_EQ(a.StatusOf(a.Post(wrong, {.length = 8})), Number(EfaStatus::kRemoteBadQueuePair));
  wrong = b.address();
  wrong.queue_pair = 17;
  EXPECT_EQ(a.StatusOf(a.Post(wrong, {.operation = efa::Operation::kRead, .length = 8})),
            Number(EfaStatus::kRemoteBadQueuePair));
}

TEST_P(HostTest, AStrangerMayNotWrite) {
  Station a(Options());
  Station b(Options());
  const StationWork work{.operation = efa::Operation::kWrite, .length = 50000};
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), work)), Number(EfaStatus::kRemoteUnknownPeer));
  b.Introduce(a.address().gid);
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), work)), 0);
}

TEST_P(HostTest, AClosedRegionIsNotRead) {
  Station a(Options());
  Station b(Options());
  b.Introduce(a.address().gid);
  const StationAddress address = b.address();
  b.Deregister();
  EXPECT_EQ(a.StatusOf(a.Post(address, {.operation = efa::Operation::kRead, .length = 50000})),
            Number(EfaStatus::kRemoteBadAddress));
}

// Of a machine that was in the network, and has left.
StationAddress Gone(const StationOptions& options) { return Station(options).address(); }

absl::StatusCode Addressing(Station& from, const sim::Gid& gid) {
  const std::lock_guard lock(from.host().mutex());
  return from.nic().admin().CreateAddressHandle(1, gid).status().code();
}

TEST_P(HostTest, WhoWasNeverThereHasNoHandle) {
  Station a(Options());
  sim::Gid nobody = a.address().gid;
  nobody[14] = 200;
  EXPECT_EQ(Addressing(a, nobody), absl::StatusCode::kInvalidArgument);
  nobody[9] ^= 1;  // of another network
  EXPECT_EQ(Addressing(a, nobody), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Addressing(a, Gone(Options()).gid), absl::StatusCode::kOk);
}

TEST_P(HostTest, WhoComesLaterIsFound) {
  Station a(Options());
  const StationAddress later = Gone(Options());
  EXPECT_EQ(a.StatusOf(a.Post(later, {.length = 8})), Number(EfaStatus::kLocalUnreachablePeer));
  Station b(Options());
  ASSERT_EQ(b.address().gid, later.gid);
  b.PostReceive(0, 8, 1);
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.length = 8})), 0);
}

TEST_P(HostTest, WhoLeavesFallsSilent) {
  Station a(Options());
  auto b = std::make_unique<Station>(Options());
  b->PostReceive(0, 8, 1);
  EXPECT_EQ(a.StatusOf(a.Post(b->address(), {.length = 8})), 0);
  const StationAddress address = b->address();
  const std::uint16_t waits = a.Post(address, {.length = 8});  // for a receive
  b->PollUntil([&] {
    b->Poll();
    return b->device_counters().rx_drops > 0;
  });
  {
    const std::lock_guard lock(b->host().mutex());
    b->host().node().Kill();  // so that it says nothing in leaving
  }
  b.reset();
  EXPECT_EQ(a.StatusOf(waits), Number(EfaStatus::kLocalUnresponsivePeer));
  EXPECT_EQ(a.StatusOf(a.Post(address, {.length = 8})), Number(EfaStatus::kLocalUnresponsivePeer));
}

TEST_P(HostTest, WhoLeavesHasAnswered) {
  Station a(Options());
  for (int i = 0; i < 20; ++i) {
    auto b = std::make_unique<Station>(Options());
    b->PostReceive(0, 8, 1);
    const std::uint16_t sent = a.Post(b->address(), {.length = 8});
    EXPECT_EQ(b->Wait().length, 8u);
    b.reset();
    EXPECT_EQ(a.StatusOf(sent), 0);
  }
}

TEST_P(HostTest, ASuccessorHasTheSameGidAndAnotherQkey) {
  Station a(Options());
  auto b = std::make_unique<Station>(Options());
  const StationAddress before = b->address();
  b->PostReceive(0, 8, 1);
  EXPECT_EQ(a.StatusOf(a.Post(before, {.length = 8})), 0);
  b.reset();
  b = std::make_unique<Station>(Options());
  const StationAddress after = b->address();
  EXPECT_EQ(after.gid, before.gid);
  EXPECT_NE(after.qkey, before.qkey);
  EXPECT_EQ(a.StatusOf(a.Post(before, {.length = 8})), Number(EfaStatus::kRemoteBadQueuePair));
  b->PostReceive(0, 8, 1);
  EXPECT_EQ(a.StatusOf(a.Post(after, {.length = 8})), 0);
}

TEST_P(HostTest, ADestroyedQueuePairTakesItsWorkBack) {
  Station a(Options());
  Station b(Options());
  a.Post(b.address(), {.length = 8});
  b.PollUntil([&] {
    b.Poll();
    return b.device_counters().rx_drops > 0;
  });
  const auto taken = [&] {
    const std::lock_guard lock(b.host().mutex());
    return b.host().counters().messages_taken;
  };
  const std::uint64_t before = taken();
  a.ReplaceQueuePair();
  b.PollUntil([&] { return taken() > before; });
  b.PostReceive(0, 8, 1);
  b.PostReceive(8, 8, 2);
  const std::uint16_t sent = a.Post(b.address(), {.length = 5});
  EXPECT_EQ(a.StatusOf(sent), 0);
  EXPECT_EQ(b.Wait().length, 5u);  // and nothing else
  EXPECT_FALSE(b.Poll().has_value());
}

// ---- The thread and the program share the work ----

TEST_P(HostTest, NobodyHasToPoll) {
  Station a(Options());
  Station b(Options());
  b.Introduce(a.address().gid);
  a.Fill(0, 100000, 2);
  a.Post(b.address(), {.operation = efa::Operation::kWrite, .length = 100000});
  EXPECT_EQ(a.WaitIdly().status, efa::CompletionStatus::kOk);
  EXPECT_TRUE(b.Holds(0, 100000, 2));
}

TEST_P(HostTest, TwoProgramsAtOnce) { Exchange(StationProfile()); }

// In one process a whole operation is one packet then; one that travels to another process is not.
TEST_P(HostTest, TwoProgramsAtOnceWithoutDelays) { Exchange(sim::WithoutDelays(StationProfile())); }

// No event is under way then that would wake the sender's thread.
TEST_P(HostTest, WithoutDelaysAMessageLeavesWithItsPost) {
  const sim::Profile profile = sim::WithoutDelays(StationProfile());
  Station a(Options(profile));
  Station b(Options(profile));
  b.PostReceive(0, 8, 1);
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.length = 8})), 0);
  b.Wait();
  b.PollUntil([&] {
    const std::lock_guard lock(a.host().mutex());
    return a.host().resting();
  });
  b.PostReceive(0, 8, 2);
  a.Post(b.address(), {.length = 8});
  EXPECT_EQ(b.Wait().status, efa::CompletionStatus::kOk);  // and no thread polls at the sender
}

// Also where the sender's thread sleeps, because the next event of its world is far away, and
// nobody answers.
TEST_P(HostTest, WithoutDelaysWhatFoundNoRoomLeavesWhenThereIsSome) {
  const sim::Profile profile = sim::WithoutDelays(StationProfile());
  StationOptions options = Options(profile);
  options.type = sim::QueuePairType::kUd;
  Station a(options);
  Station b(options);
  const coro::SteadyClock clock;
  const coro::Time long_before = clock.Now() + std::chrono::seconds(50);
  {
    const std::lock_guard lock(a.host().mutex());
    sim::Timeline& timeline = a.host().world().timeline();
    timeline.WakeAt(timeline.now() + std::chrono::seconds(60));
    a.host().Kick();
  }
  {
    const std::lock_guard lock(b.host().mutex());  // it reads nothing
    for (const int datagrams : {117, 1}) {         // all that a ring holds, and what waits for room
      std::uint64_t turns = 0;                     // until none has come for a while
      a.PollUntil([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        const std::uint64_t before = std::exchange(turns, a.counters().thread_turns);
        return turns > 0 && turns == before;
      });
      for (int i = 0; i < datagrams; ++i) {
        EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.length = 8800})), 0);
      }
    }
  }
  b.PollUntil([&] { return b.device_counters().rx_drops == 118; });
  EXPECT_LT(clock.Now(), long_before);
}

TEST_P(HostTest, ATimeoutComesByItselfAndNotEarly) {
  Station a(Options());
  const StationAddress nobody = Gone(Options());
  const coro::SteadyClock clock;
  const coro::Time begun = clock.Now();
  a.Post(nobody, {.length = 8});
  EXPECT_EQ(a.WaitIdly().status, efa::CompletionStatus::kLocalUnreachableRemote);
  EXPECT_GE(clock.Now() - begun, StationProfile().unreachable_timeout);
}

TEST_P(HostTest, CompletionsAreReported) {
  Station a(Options());
  Station b(Options());
  std::uint64_t told = 0;
  {
    const std::lock_guard lock(b.host().mutex());
    b.host().OnCompletion([&] { ++told; });
  }
  b.PostReceive(0, 8, 1);
  a.Post(b.address(), {.length = 8});
  b.PollUntil([&] {
    const std::lock_guard lock(b.host().mutex());
    return told > 0;
  });
  EXPECT_EQ(b.Wait().status, efa::CompletionStatus::kOk);
}

TEST_P(HostTest, NothingUnderWayCostsNothing) {
  Station a(Options());
  Station b(Options());
  b.PostReceive(0, 8, 1);
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), {.length = 8})), 0);
  b.Wait();
  // Both threads have taken over, and nothing is to come: from now on they sleep.
  const auto turns = [](Station& station) {
    const std::lock_guard lock(station.host().mutex());
    return station.host().counters().thread_turns;
  };
  const auto rests = [&] {
    const std::lock_guard lock_a(a.host().mutex());
    const std::lock_guard lock_b(b.host().mutex());
    return a.host().resting() && b.host().resting();
  };
  a.PollUntil(rests);
  const std::uint64_t before_a = turns(a);
  const std::uint64_t before_b = turns(b);
  Station c(Options());  // some time passes; and the network changes
  c.PostReceive(0, 8, 1);
  Station d(Options());
  EXPECT_EQ(d.StatusOf(d.Post(c.address(), {.length = 8})), 0);
  EXPECT_EQ(turns(a), before_a);
  EXPECT_EQ(turns(b), before_b);
}

// ---- Joining ----

TEST(JoinTest, AProfileIsNeeded) {
  EXPECT_EQ(sim::Host::Join({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(JoinTest, ANetworkHasOneProfile) {
  StationOptions options;
  options.fabric = FreshFabric();
  Station station(options);
  const auto other =
      sim::Host::Join({.fabric = options.fabric, .seed = 1, .profile = &sim::Profiles().back()});
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(JoinTest, NetworksDoNotMeet) {
  StationOptions options;
  options.fabric = FreshFabric();
  Station a(options);
  options.fabric = FreshFabric();
  Station b(options);
  EXPECT_EQ(Addressing(a, b.address().gid), absl::StatusCode::kInvalidArgument);
}

TEST(JoinTest, TheEnvironmentKeepsMemoryApart) {
  setenv("DRYDOCK_EFA_CROSS_MEMORY", "0", 1);
  StationOptions options;
  options.fabric = FreshFabric();
  Station a(options);
  Station b(options);
  unsetenv("DRYDOCK_EFA_CROSS_MEMORY");
  b.Introduce(a.address().gid);
  a.Fill(0, 8928, 1);
  const StationWork work{.operation = efa::Operation::kWrite, .length = 8928};
  EXPECT_EQ(a.StatusOf(a.Post(b.address(), work)), 0);
  EXPECT_TRUE(b.Holds(0, 8928, 1));
  EXPECT_EQ(b.counters().bytes_across, 0u);
  EXPECT_GE(b.counters().bytes_in_messages, 8928u);
}

}  // namespace
}  // namespace drydock::sim_testing
