// A NIC's own work requests: how they are fetched and checked, when they are served, how they end.

#include "drydock/sim/device/requester.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/efa_queue/words.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/testing/bare_device.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;
namespace efa = fabric::efa_queue;

using fabric::OperationKind;
using sim::EfaStatus;
using sim::EventKind;
using sim::Operation;
using sim::QueuePair;
using sim::Timeline;
using Ids = std::vector<std::uint64_t>;
using Lines = std::vector<std::string>;
using When = sim::FetchVerdict::When;

// The parts of NIC a, which knows NIC b. Events are handed on as a device does.
struct Ends {
  explicit Ends(sim::Profile profile = Plain()) : bench(std::move(profile)) {
    bench.Introduce(a, b);
  }

  efa::SendWork Work(std::uint16_t id, OperationKind kind = OperationKind::kWrite) {
    return bench.Work(id, kind, from, to, 100);
  }
  void Post(const efa::SendWork& work) { Post(from, work); }
  void Post(QueuePair& queue_pair, const efa::SendWork& work) {
    parts.requester.Ring(queue_pair, bench.Post(queue_pair, work));
  }
  // The operation of a work request that was fetched; null: it has ended.
  Operation* Find(std::uint16_t id) {
    Operation* found = nullptr;
    bench.operations.ForEach([&](Operation& operation) {
      if (operation.request_id == id) found = &operation;
    });
    return found;
  }
  // Lets time pass, and takes the operations that have ended until then.
  void RunFor(coro::Duration duration) {
    bench.RunFor(duration);
    for (const sim::Event& event : std::exchange(a.actor.events, {})) {
      Operation* operation = bench.operations.Find(sim::OperationId::Unpack(event.b));
      if (event.kind == EventKind::kAnswer) parts.requester.OnAnswer(*operation);
    }
  }
  // The status of the only entry that is there after a while, which is taken.
  int StatusOfOne() {
    RunFor(1ms);
    const std::vector<Entry> entries = Bench::Sent(from);
    EXPECT_EQ(entries.size(), 1u);
    return entries.size() == 1 ? static_cast<int>(entries[0].status) : -1;
  }
  int StatusOf(const efa::SendWork& work) {
    Post(work);
    return StatusOfOne();
  }
  // Sends a packet, as a device does when the link is free.
  void SendOne() {
    if (const auto served = parts.transmitter.SendOne()) parts.requester.OnServed(*served);
    parts.requester.Fetch();
  }
  std::size_t Sent() { return bench.told.Count("sent packet 0 of 100 bytes"); }

  Bench bench;
  BenchNic& a = bench.AddNic();
  BenchNic& b = bench.AddNic();
  QueuePair& from = a.OpenQueuePair();
  QueuePair& to = b.OpenQueuePair();
  BenchParts parts{a};
};

// ---- Fetching ----

TEST(RequesterTest, DoorbellFetchesTheWorkAndAsksForTheLink) {
  Ends ends;
  ends.Post(ends.Work(7));
  EXPECT_EQ(ends.bench.told.Take(), (Lines{"doorbell of 1", "fetched 7: 0"}));
  const Operation* operation = ends.Find(7);
  ASSERT_NE(operation, nullptr);
  EXPECT_EQ(operation->initiator, &ends.a.state);
  EXPECT_EQ(operation->peer, &ends.b.state);
  EXPECT_EQ(operation->source, ends.from.serial);
  EXPECT_EQ(operation->qkey, ends.from.qkey);
  EXPECT_EQ(operation->domain, kDomain);
  EXPECT_EQ(ends.from.under_way, 1u);
  ends.bench.RunFor(0ns);
  EXPECT_EQ(ends.a.actor.Count(EventKind::kTransmit), 1u);
}

TEST(RequesterTest, DoorbellThatNothingExplainsIsCountedAndNothingIsFetched) {
  Ends ends;
  ends.parts.requester.Ring(ends.from, 17);
  EXPECT_EQ(ends.a.state.counters.doorbell_faults, 1u);
  EXPECT_EQ(ends.from.last_doorbell_fault, efa::DoorbellFault::kOverRing);
  EXPECT_EQ(ends.bench.operations.started(), 0u);
  EXPECT_TRUE(ends.bench.told.Take().empty());
}

TEST(RequesterTest, EngineFetchesAWindowAndQueuePairsTakeTurns) {
  sim::Profile profile = Plain();
  profile.engine_window = 1;
  Ends ends(profile);
  QueuePair& other = ends.a.OpenQueuePair();
  for (const std::uint16_t id : {1, 2, 3}) ends.Post(ends.Work(id));
  for (const std::uint16_t id : {11, 12}) ends.Post(other, ends.Work(id));
  EXPECT_EQ(ends.bench.told.Count("fetched 1: 0"), 1u);
  EXPECT_EQ(ends.bench.operations.started(), 1u);  // there is room for one
  for (int i = 0; i < 5; ++i) ends.SendOne();
  Lines fetched;
  for (const std::string& line : ends.bench.told.Take()) {
    if (line.starts_with("fetched")) fetched.push_back(line);
  }
  EXPECT_EQ(fetched, (Lines{"fetched 1: 0", "fetched 2: 0", "fetched 11: 0", "fetched 3: 0",
                            "fetched 12: 0"}));
}

// What was fetched before goes on; what comes then waits, in its order, and other queue pairs do
// not.
TEST(RequesterTest, DrainedQueuePairSendsNothingNewUntilItResumes) {
  sim::Profile profile = Plain();
  profile.engine_window = 1;
  Ends ends(profile);
  QueuePair& other = ends.a.OpenQueuePair();
  ends.Post(ends.Work(1));
  ends.Post(ends.Work(2));  // for which there is no room
  ends.parts.requester.Drain(ends.from);
  ends.Post(ends.Work(3));
  ends.Post(other, ends.Work(11));
  for (int i = 0; i < 4; ++i) ends.SendOne();
  EXPECT_EQ(ends.Sent(), 2u);
  EXPECT_EQ(ends.Find(2), nullptr);
  EXPECT_NE(ends.Find(11), nullptr);
  ends.parts.requester.Resume(ends.from);
  for (int i = 0; i < 2; ++i) ends.SendOne();
  Lines fetched;
  for (const std::string& line : ends.bench.told.Take()) {
    if (line.starts_with("fetched")) fetched.push_back(line);
  }
  EXPECT_EQ(fetched, (Lines{"fetched 1: 0", "fetched 11: 0", "fetched 2: 0", "fetched 3: 0"}));
}

TEST(RequesterTest, WorkThatAsksForNoCompletionHasNoneUnlessItFails) {
  Ends ends;
  efa::SendWork quiet = ends.Work(1);
  quiet.completion_requested = false;
  ends.Post(quiet);
  Operation* operation = ends.Find(1);
  ASSERT_NE(operation, nullptr);
  EXPECT_FALSE(operation->completion_requested);
  ends.parts.requester.OnAnswer(*operation);
  EXPECT_EQ(ends.from.under_way, 0u);
  EXPECT_EQ(ends.a.state.counters.rdma_write_wrs, 1u);
  EXPECT_TRUE(Bench::Sent(ends.from).empty());
  quiet.request_id = 2;
  quiet.segments[0].lkey ^= 1;
  EXPECT_EQ(ends.StatusOf(quiet), 5);
}

TEST(RequesterTest, DeadNicFetchesNothing) {
  Ends ends;
  ends.a.state.port.alive = false;
  ends.Post(ends.Work(7));
  EXPECT_EQ(ends.bench.operations.started(), 0u);
}

TEST(RequesterTest, LargeTransferIsDividedIntoPackets) {
  Ends ends;
  ends.Post(ends.bench.Work(7, OperationKind::kWrite, ends.from, ends.to, 20000));
  EXPECT_EQ(ends.Find(7)->packets, 3u);
  EXPECT_EQ(ends.Find(7)->packet_bytes, 8928u);
  ends.bench.profile.instant = true;  // where packets take no time there is one
  ends.Post(ends.bench.Work(8, OperationKind::kWrite, ends.from, ends.to, 20000));
  EXPECT_EQ(ends.Find(8)->packets, 1u);
}

// ---- Local checks ----

TEST(RequesterTest, WorkThatTheDeviceDoesNotDoFailsWithStatus3) {
  Ends ends;
  ends.bench.profile.device.rdma_write = false;
  EXPECT_EQ(ends.StatusOf(ends.Work(1)), 3);
  EXPECT_EQ(ends.bench.told.Count("fetched 1: 3"), 1u);
  ends.Post(ends.Work(2, OperationKind::kRead));
  EXPECT_FALSE(ends.Find(2)->ended);
  ends.bench.profile.device.rdma_read = false;
  EXPECT_EQ(ends.StatusOf(ends.Work(3, OperationKind::kRead)), 3);
  QueuePair& datagrams = ends.a.OpenQueuePair({.type = sim::QueuePairType::kUd});
  ends.bench.profile.device.rdma_write = true;
  ends.Post(datagrams, ends.Work(4));
  EXPECT_EQ(ends.Find(4)->status, 3u);
}

TEST(RequesterTest, LocalMistakesFailWithTheirStatusAndWithoutAPacket) {
  Ends ends;
  efa::SendWork work = ends.Work(1);
  work.address_handle = 999;
  EXPECT_EQ(ends.StatusOf(work), 4);
  work = ends.Work(2);
  work.segments[0].lkey ^= 1;
  EXPECT_EQ(ends.StatusOf(work), 5);
  EXPECT_EQ(ends.StatusOf(ends.bench.Work(3, OperationKind::kSend, ends.from, ends.to, 8929)), 6);
  ends.Post(ends.bench.Work(4, OperationKind::kSend, ends.from, ends.to, 8928));
  EXPECT_FALSE(ends.Find(4)->ended);
  ends.bench.profile.device.max_rdma_size = 99;
  EXPECT_EQ(ends.StatusOf(ends.Work(5)), 6);
  EXPECT_EQ(ends.a.state.counters.tx_pkts, 0u);
  EXPECT_EQ(ends.a.state.counters.rdma_write_wr_err, 3u);
}

TEST(RequesterTest, MalformedWorkFailsAtOnceWithoutAnOperation) {
  Ends ends;
  efa::SendWork work = ends.Work(1);
  work.remote.length = 99;  // not that of the local bytes
  ends.Post(work);
  work = ends.Work(2);
  work.operation = static_cast<efa::Operation>(9);
  ends.Post(work);
  const std::vector<Entry> entries = Bench::Sent(ends.from);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].request_id, 1u);
  EXPECT_EQ(entries[0].status, efa::CompletionStatus::kLocalQpInternalError);
  EXPECT_EQ(entries[1].request_id, 2u);
  EXPECT_EQ(entries[1].status, efa::CompletionStatus::kLocalUnsupportedOp);
  EXPECT_EQ(ends.a.state.counters.malformed_work, 2u);
  EXPECT_EQ(ends.bench.operations.live(), 0u);
  EXPECT_EQ(ends.from.under_way, 0u);
}

TEST(RequesterTest, WorkOfAQueuePairInErrorIsFlushed) {
  Ends ends;
  ends.from.state = sim::QueuePairState::kError;
  ends.Post(ends.Work(7));
  const std::vector<Entry> entries = Bench::Sent(ends.from);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].status, efa::CompletionStatus::kFlushed);
  EXPECT_EQ(ends.a.state.counters.malformed_work, 0u);
  EXPECT_EQ(ends.bench.operations.live(), 0u);
}

// ---- A fault plan's say ----

TEST(RequesterTest, PlanLetsWorkBeServedLater) {
  Ends ends;
  ends.bench.UseFaults();
  ends.bench.faults.fetch = {.when = When::kLater, .delay = 50us};
  ends.Post(ends.Work(7));
  ends.RunFor(49us);
  ends.SendOne();
  EXPECT_EQ(ends.Sent(), 0u);
  ends.RunFor(1us);
  ends.SendOne();
  EXPECT_EQ(ends.Sent(), 1u);
}

TEST(RequesterTest, PlanLetsWorkFailWithoutAPacket) {
  Ends ends;
  ends.bench.UseFaults();
  ends.bench.faults.fetch = {.when = When::kNever, .failure = {EfaStatus::kLocalBadLength, 50us}};
  ends.Post(ends.Work(7));
  ends.RunFor(50us);
  EXPECT_TRUE(Bench::Sent(ends.from).empty());
  EXPECT_EQ(ends.StatusOfOne(), 6);
  EXPECT_EQ(ends.a.state.counters.tx_pkts, 0u);
}

TEST(RequesterTest, PlanLetsWorkBeServedAfterLaterOnesOfItsQueuePair) {
  Ends ends;
  QueuePair& other = ends.a.OpenQueuePair();
  ends.bench.UseFaults();
  ends.bench.faults.fetch = {.when = When::kAfterOthers, .others = 2};
  ends.Post(ends.bench.Work(7, OperationKind::kWrite, ends.from, ends.to, 77));
  ends.bench.faults.fetch = {};
  ends.Post(other, ends.Work(1));
  ends.SendOne();
  for (const std::uint16_t id : {2, 3}) {
    ends.SendOne();
    EXPECT_EQ(ends.bench.told.Count("sent packet 0 of 77 bytes"), 0u);
    ends.Post(ends.Work(id));
    ends.SendOne();
  }
  ends.SendOne();
  EXPECT_EQ(ends.bench.told.Count("sent packet 0 of 77 bytes"), 1u);
  ends.RunFor(1ms);  // its time comes as well, and it was served
  ends.SendOne();
  EXPECT_EQ(ends.bench.told.Count("sent packet 0 of 77 bytes"), 1u);
}

TEST(RequesterTest, WorkThatWaitsForOthersInVainIsServedAllTheSame) {
  Ends ends;
  ends.bench.UseFaults();
  ends.bench.faults.fetch = {.when = When::kAfterOthers, .others = 2};
  ends.Post(ends.Work(7));
  ends.RunFor(99us);
  ends.SendOne();
  EXPECT_EQ(ends.Sent(), 0u);
  ends.RunFor(1us);
  ends.SendOne();
  EXPECT_EQ(ends.Sent(), 1u);
}

TEST(RequesterTest, VerdictOnUnsoundWorkDoesNotCount) {
  Ends ends;
  ends.bench.UseFaults();
  ends.bench.faults.fetch = {.when = When::kNever, .failure = {EfaStatus::kLocalBadLength, 50us}};
  efa::SendWork work = ends.Work(7);
  work.address_handle = 999;
  EXPECT_EQ(ends.StatusOf(work), 4);
  EXPECT_EQ(ends.bench.faults.fetched_sound, std::vector{false});
}

TEST(RequesterTest, PlanIsAskedWhenTheCompletionOfMarkedWorkIsReported) {
  Ends ends;
  ends.bench.UseFaults();
  ends.bench.faults.completion.when = sim::CompletionVerdict::When::kNever;
  ends.parts.requester.OnAnswer(ends.bench.Start(OperationKind::kWrite, ends.from, ends.to, 100));
  EXPECT_EQ(Bench::Sent(ends.from).size(), 1u);
  ends.bench.faults.marks = true;
  ends.Post(ends.Work(7));
  ends.parts.requester.OnAnswer(*ends.Find(7));
  EXPECT_TRUE(Bench::Sent(ends.from).empty());
  EXPECT_EQ(ends.bench.told.Count("withheld 7"), 1u);
}

// ---- How work ends ----

TEST(RequesterTest, AnswerIsReportedCountedAndTheOperationGone) {
  Ends ends;
  sim::QueuePairAttributes attributes;
  attributes.counters[static_cast<std::size_t>(sim::CounterKind::kWrites)] =
      std::make_shared<sim::CounterCore>();
  QueuePair& counted = ends.a.OpenQueuePair(attributes);
  Operation& done = ends.bench.Start(OperationKind::kWrite, counted, ends.to, 100);
  Operation& failed = ends.bench.Start(OperationKind::kWrite, counted, ends.to, 50);
  failed.status = 7;
  ends.parts.requester.OnAnswer(done);
  ends.parts.requester.OnAnswer(failed);
  EXPECT_EQ(ends.bench.told.Take(), (Lines{"reported 0: 0", "gone", "reported 1: 7", "gone"}));
  const std::vector<Entry> entries = Bench::Sent(counted);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].operation, efa::Operation::kWrite);
  EXPECT_EQ(counted.under_way, 0u);
  EXPECT_EQ(ends.bench.operations.live(), 0u);
  const sim::DeviceCounters& counters = ends.a.state.counters;
  EXPECT_EQ(counters.rdma_write_wrs, 2u);
  EXPECT_EQ(counters.rdma_write_bytes, 100u);
  EXPECT_EQ(counters.rdma_write_wr_err, 1u);
  const sim::CounterCore& core =
      *attributes.counters[static_cast<std::size_t>(sim::CounterKind::kWrites)];
  EXPECT_EQ(core.value, 1u);
  EXPECT_EQ(core.errors, 1u);
}

TEST(RequesterTest, StatusThatNobodyKnowsIsReportedAsBadResponse) {
  Ends ends;
  Operation& operation = ends.bench.Start(OperationKind::kWrite, ends.from, ends.to, 100);
  operation.status = 200;
  ends.parts.requester.OnAnswer(operation);
  EXPECT_EQ(ends.StatusOfOne(), 12);
}

TEST(RequesterTest, AnswerForAQueuePairThatIsGoneIsNotReported) {
  Ends ends;
  const auto ring = ends.from.send_ring;
  Operation& operation = ends.bench.Start(OperationKind::kWrite, ends.from, ends.to, 100);
  ends.a.state.queue_pairs.Erase(ends.from.number);
  ends.a.OpenQueuePair({.send_ring = ring});  // the same number, and another key
  ends.parts.requester.OnAnswer(operation);
  EXPECT_TRUE(Bench::Take(*ring).empty());
  EXPECT_EQ(ends.bench.operations.live(), 0u);
}

TEST(RequesterTest, PeerWasHeardFromWhenItHasAnswered) {
  Ends ends;
  const auto answer = [&](EfaStatus status, bool datagram) {
    Operation& operation = ends.bench.Start(OperationKind::kSend, ends.from, ends.to, 100);
    operation.status = static_cast<std::uint8_t>(status);
    operation.datagram = datagram;
    ends.parts.requester.OnAnswer(operation);
    return ends.a.state.heard_from.Has(ends.b.state.index());
  };
  EXPECT_FALSE(answer(EfaStatus::kLocalInvalidLkey, false));
  EXPECT_FALSE(answer(EfaStatus::kLocalUnreachablePeer, false));
  EXPECT_FALSE(answer(EfaStatus::kOk, true));  // no peer answers a datagram
  EXPECT_TRUE(answer(EfaStatus::kRemoteNotReady, false));
}

TEST(RequesterTest, PatienceIsThatWithAPeerThatWasHeardFromOrNever) {
  for (const bool heard : {false, true}) {
    Ends ends;
    if (heard) ends.a.state.heard_from.Insert(ends.b.state.index());
    Operation& operation = ends.bench.Start(OperationKind::kWrite, ends.from, ends.to, 100);
    ends.parts.requester.OnSilence(operation);
    ends.bench.RunFor(1s);
    EXPECT_EQ(ends.a.actor.First(EventKind::kTimeOut).time, Timeline::kStart + (heard ? 2ms : 3ms));
    ends.parts.requester.OnTimeOut(operation);
    EXPECT_EQ(operation.status, heard ? 13 : 15);
    EXPECT_EQ(ends.a.state.counters.unresponsive_remote_events, 1u);
  }
}

TEST(RequesterTest, MessageThatWaitsForItsReceiveIsAskedForOnceMore) {
  Ends ends;
  Operation& operation = ends.bench.Start(OperationKind::kSend, ends.from, ends.to, 100);
  ends.to.waiting.push_back(operation.id);
  ends.parts.requester.OnSilence(operation);
  ends.parts.requester.OnTimeOut(operation);
  EXPECT_FALSE(operation.ended);
  EXPECT_TRUE(ends.to.waiting.empty());
  ends.bench.RunFor(10ms);
  EXPECT_EQ(ends.b.actor.Count(EventKind::kRnrRetry), 1u);
  // And that gets no answer either.
  ends.to.waiting.push_back(operation.id);
  ends.a.actor.events.clear();
  ends.parts.requester.OnSilence(operation);
  ends.bench.RunFor(0us);
  EXPECT_EQ(ends.a.actor.Count(EventKind::kTimeOut), 1u);
  ends.parts.requester.OnTimeOut(operation);
  EXPECT_EQ(operation.status, 15);
}

TEST(RequesterTest, TimeOutAfterTheAnswerIsNothing) {
  Ends ends;
  Operation& operation = ends.bench.Start(OperationKind::kWrite, ends.from, ends.to, 100);
  operation.answered = true;
  ends.parts.requester.OnTimeOut(operation);
  EXPECT_EQ(ends.a.state.counters.unresponsive_remote_events, 0u);
  EXPECT_TRUE(ends.bench.told.Take().empty());
}

TEST(RequesterTest, DataOfAReadReachTheInitiatorsMemory) {
  Ends ends;
  ends.b.memory.bytes[99] = std::byte{42};
  Operation& read = ends.bench.Start(OperationKind::kRead, ends.from, ends.to, 100);
  read.next_packet = 1;
  ends.parts.requester.OnReadData(read, 0);
  EXPECT_EQ(ends.a.memory.bytes[99], std::byte{42});
  EXPECT_EQ(ends.parts.listener.all_placed, Ids{read.sequence});
}

// ---- Ends from outside ----

TEST(RequesterTest, FlushEndsTheWorkOfOneQueuePairThatHasNotEnded) {
  Ends ends;
  QueuePair& other = ends.a.OpenQueuePair();
  Operation& ours = ends.bench.Start(OperationKind::kWrite, ends.from, ends.to, 100);
  Operation& ended = ends.bench.Start(OperationKind::kWrite, ends.from, ends.to, 100);
  Operation& others = ends.bench.Start(OperationKind::kWrite, other, ends.to, 100);
  Operation& unheard = ends.bench.Start(OperationKind::kWrite, ends.from, ends.to, 100);
  ended.ended = ended.answered = true;
  unheard.ended = true;  // its answer was lost
  ends.parts.requester.Flush(ends.from);
  EXPECT_TRUE(ours.ended);
  EXPECT_EQ(ours.status, 1);
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(unheard.status, 1);
  EXPECT_FALSE(others.ended);
}

TEST(RequesterTest, FlushOfAHandleEndsTheWorkToIt) {
  Ends ends;
  Operation& to_it = ends.bench.Start(OperationKind::kWrite, ends.from, ends.to, 100);
  Operation& to_another = ends.bench.Start(OperationKind::kWrite, ends.from, ends.to, 100);
  Operation& of_peer = ends.bench.Start(OperationKind::kWrite, ends.to, ends.from, 100);
  to_it.address_handle = of_peer.address_handle = 3;
  to_another.address_handle = 4;
  ends.parts.requester.FlushHandle(3);
  EXPECT_TRUE(to_it.ended);
  EXPECT_EQ(to_it.status, 1);
  EXPECT_FALSE(to_another.ended);
  EXPECT_FALSE(of_peer.ended);
}

TEST(RequesterTest, FlushOfAllSparesWhatPeersDo) {
  Ends ends;
  Operation& first = ends.bench.Start(OperationKind::kWrite, ends.from, ends.to, 100);
  Operation& second = ends.bench.Start(OperationKind::kWrite, ends.a.OpenQueuePair(), ends.to, 100);
  Operation& of_peer = ends.bench.Start(OperationKind::kWrite, ends.to, ends.from, 100);
  ends.parts.requester.FlushAll();
  EXPECT_EQ(first.status, 1);
  EXPECT_EQ(second.status, 1);
  EXPECT_FALSE(of_peer.ended);
}

TEST(RequesterTest, AbandonedQueuePairIsForgottenWithItsUnfetchedWork) {
  sim::Profile profile = Plain();
  profile.engine_window = 1;
  Ends ends(profile);
  QueuePair& other = ends.a.OpenQueuePair();
  ends.Post(other, ends.Work(1));  // takes the engine's only place
  for (const std::uint16_t id : {2, 3}) ends.Post(ends.Work(id));
  ends.bench.Start(OperationKind::kWrite, ends.from, ends.to, 100);
  ends.parts.requester.Abandon(ends.from);
  EXPECT_NE(ends.Find(1), nullptr);
  EXPECT_EQ(ends.bench.operations.live(), 1u);
  ends.SendOne();
  EXPECT_EQ(ends.bench.told.Count("fetched 2: 0"), 0u);
  EXPECT_TRUE(Bench::Sent(ends.from).empty());
}

}  // namespace
}  // namespace drydock::sim_testing
