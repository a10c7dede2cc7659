// Programs that leave a queue unread, confuse their receivers, write to the dead, or poll for
// nothing; and their twins.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/task.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/checks/programs/twin_programs.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::ErrorCode;
using sim::TwoNodes;

// ---- Service ----

// A second endpoint of b, whose immediates go to a queue of its own.
struct Aside {
  explicit Aside(Pair& pair) : queue(Must(pair.b.domain->OpenCompletionQueue({}))) {
    fabric::EndpointOptions options = pair.b.Parts();
    options.receive_queue = queue.get();
    endpoint = Must(pair.b.domain->OpenEndpoint(options));
    peer = Must(pair.a.peers->Insert(endpoint->address()));
  }

  // a writes to it, with an immediate.
  void Notify(Pair& pair, std::uint64_t number) {
    fabric::WriteRequest request = pair.a.WriteTo(pair.b, 64 * number, 64, number);
    request.peer = peer;
    request.immediate = 1;
    ASSERT_EQ(pair.a.endpoint->Write(request), ErrorCode::kOk);
  }

  std::unique_ptr<fabric::CompletionQueue> queue;
  std::unique_ptr<fabric::Endpoint> endpoint;
  fabric::Peer peer{};
};

// `busy` reads its queue all the time; now and then something comes to the other queue.
void NotifyForSeconds(Pair& pair, Aside& aside, Side& busy, std::uint64_t times,
                      const std::function<void(std::uint64_t)>& each) {
  for (std::uint64_t number = 1; number <= times; ++number) {
    aside.Notify(pair, number);
    for (int i = 0; i < 200; ++i) {
      pair.lab.world().timeline().RunFor(5ms);
      static_cast<void>(pair.Poll(*busy.queue));
    }
    each(number);
  }
}

void LeavesAQueueUnread(Pair& pair) {
  Aside aside(pair);
  NotifyForSeconds(pair, aside, pair.b, 8, [](std::uint64_t) {});
}

void ReadsAQueueOnlyInTheBeginning(Pair& pair) {
  Aside aside(pair);
  NotifyForSeconds(pair, aside, pair.b, 10, [&](std::uint64_t number) {
    if (number == 1) {
      EXPECT_EQ(pair.Poll(*aside.queue), 1u);
    }
  });
}

void ReadsAQueueOnceASecond(Pair& pair) {
  Aside aside(pair);
  NotifyForSeconds(pair, aside, pair.b, 8,
                   [&](std::uint64_t) { EXPECT_EQ(pair.Poll(*aside.queue), 1u); });
}

void SleepsWhileAnotherProgramRuns(Pair& pair) {
  Aside aside(pair);
  NotifyForSeconds(pair, aside, pair.a, 8, [](std::uint64_t) {});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(pair.Poll(*aside.queue), 1u);
}

void LeavesOneOldEntry(Pair& pair) {  // nothing comes after it: no entry waits for its slot
  Aside aside(pair);
  aside.Notify(pair, 1);
  for (int i = 0; i < 2000; ++i) {
    pair.lab.world().timeline().RunFor(5ms);
    static_cast<void>(pair.Poll(*pair.b.queue));
  }
}

void SleepsForAnHour(Pair& pair) {
  Aside aside(pair);
  aside.Notify(pair, 1);
  pair.lab.world().timeline().RunFor(1h);
  aside.Notify(pair, 2);
  pair.lab.world().timeline().RunFor(1h);
  EXPECT_EQ(pair.Poll(*aside.queue), 1u);
}

// ---- Immediates ----

void SequenceNumbersWrap(Pair& pair) {
  pair.lab.world().checks().rules().distinct_immediates = true;
  for (std::uint32_t i = 0; i < 9; ++i) {
    ASSERT_EQ(pair.WriteWith(i % 8, i + 1, 64 * i), ErrorCode::kOk);
  }
  pair.Drain();
}

void TwoWritesShareAnImmediate(Pair& pair) {
  pair.lab.world().checks().rules().distinct_immediates = true;
  ASSERT_EQ(pair.WriteWith(5, 1, 0), ErrorCode::kOk);
  ASSERT_EQ(pair.WriteWith(5, 2, 64), ErrorCode::kOk);
  pair.Drain();
}

void CountsOneImmediate(Pair& pair) {
  for (std::uint32_t i = 0; i < 9; ++i) ASSERT_EQ(pair.WriteWith(5, i + 1, 64 * i), ErrorCode::kOk);
  pair.Drain();
}

void SequenceNumbersDiffer(Pair& pair) {
  pair.lab.world().checks().rules().distinct_immediates = true;
  for (std::uint32_t i = 0; i < 9; ++i) ASSERT_EQ(pair.WriteWith(i, i + 1, 64 * i), ErrorCode::kOk);
  pair.Drain();
}

void SequenceNumbersWrapBehindCompletions(Pair& pair) {
  pair.lab.world().checks().rules().distinct_immediates = true;
  for (std::uint32_t i = 0; i < 32; ++i) {
    ASSERT_EQ(pair.WriteWith(i % 8, i + 1, 64 * i), ErrorCode::kOk);
    if (i % 8 == 7) pair.Drain();
  }
}

void TwoPeersGetOneImmediate(Pair& pair) {
  pair.lab.world().checks().rules().distinct_immediates = true;
  Aside aside(pair);
  ASSERT_EQ(pair.WriteWith(1, 10, 0), ErrorCode::kOk);
  aside.Notify(pair, 1);
  pair.Drain();
}

// ---- Addresses ----

// One write or message after the other, each read before the next.
void WriteTimes(Pair& pair, Side& to, std::uint64_t times) {
  for (std::uint64_t i = 1; i <= times; ++i) {
    ASSERT_EQ(pair.a.endpoint->Write(pair.a.WriteTo(to, 0, 64, i)), ErrorCode::kOk);
    static_cast<void>(pair.lab.Take(pair.a, i));
  }
}

void Reopen(Side& side) {
  ASSERT_TRUE(side.endpoint->Close().ok());
  side.endpoint = Must(side.domain->OpenEndpoint(side.Parts()));
}

void WritesOnToAClosedPeer(Pair& pair) {
  ASSERT_TRUE(pair.b.endpoint->Close().ok());
  WriteTimes(pair, pair.b, 40);
}

void WritesOnToTheOldAddress(Pair& pair) {
  WriteTimes(pair, pair.b, 3);
  Reopen(pair.b);
  WriteTimes(pair, pair.b, 40);
}

void SendsOnToTheOldAddress(Pair& pair) {
  Reopen(pair.b);
  for (std::uint64_t i = 1; i <= 40; ++i) {
    ASSERT_EQ(pair.Send(i), ErrorCode::kOk);
    EXPECT_EQ(pair.lab.Take(pair.a, i).error, ErrorCode::kBadDestination);
  }
}

void WritesOnToAPeerThatDoesNotKnowIt(Pair& pair) {
  Side& c = pair.lab.Add("c");
  pair.a.Insert(c);
  WriteTimes(pair, c, 1100);
}

void GivesUpAClosedPeer(Pair& pair) {
  ASSERT_TRUE(pair.b.endpoint->Close().ok());
  WriteTimes(pair, pair.b, 5);
}

void InsertsTheNewAddress(Pair& pair) {
  for (int life = 0; life < 30; ++life) {
    Reopen(pair.b);
    WriteTimes(pair, pair.b, 2);
    ASSERT_TRUE(pair.a.peers->Remove(pair.a.PeerOf(pair.b)).ok());
    pair.a.Insert(pair.b);
    WriteTimes(pair, pair.b, 2);
  }
}

void HearsOfAClosedPeerWithAFullQueue(Pair& pair) {
  ASSERT_TRUE(pair.b.endpoint->Close().ok());
  pair.FillTheQueue();  // all of it before the first failure is read
  pair.Drain();
}

void KeepsTryingUntilAPeerKnowsIt(Pair& pair) {
  Side& c = pair.lab.Add("c");
  pair.a.Insert(c);
  WriteTimes(pair, c, 600);
  c.Insert(pair.a);
  WriteTimes(pair, c, 600);
}

void KeepsTryingADeadMachine(Pair& pair) {  // it may come back: nothing said that it is gone
  pair.b.node.Kill();
  WriteTimes(pair, pair.b, 20);
}

// ---- Progress ----

constexpr std::uint64_t kForEver = 2 * sim::Progress::kInVain;

void PollsForNothing(Pair& pair) {
  for (std::uint64_t i = 0; i < kForEver; ++i) ASSERT_EQ(pair.Poll(*pair.a.queue), 0u);
}

void PollsForAMessageThatNobodySends(Pair& pair) {
  pair.Receive(1, 0);
  for (std::uint64_t i = 0; i < kForEver; ++i) ASSERT_EQ(pair.Poll(*pair.b.queue), 0u);
}

void BothPollForTheOther(Pair& pair) {
  pair.Receive(1, 0);
  ASSERT_EQ(pair.a.endpoint->Recv(pair.a.RecvAt(0, 64, 1)), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < kForEver; ++i) {
    ASSERT_EQ(pair.Poll(*pair.a.queue) + pair.Poll(*pair.b.queue), 0u);
  }
}

void PollsForASendThatFindsNoReceive(Pair& pair) {
  ASSERT_EQ(pair.Send(1), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < kForEver; ++i) ASSERT_EQ(pair.Poll(*pair.a.queue), 0u);
}

void PollsACounterForNothing(Pair& pair) {
  const auto counter = Must(pair.a.domain->OpenCounter());
  for (std::uint64_t i = 0; i < kForEver; ++i) ASSERT_EQ(counter->Read(), 0u);
}

void PollsForALateAnswer(Pair& pair) {  // the device gives up after seconds; it polls at 40 ns
  pair.b.node.Kill();
  ASSERT_EQ(pair.Write(1), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < kForEver; ++i) ASSERT_EQ(pair.Poll(*pair.a.queue), 0u);
}

void PollsUntilADeadline(Pair& pair) {
  const coro::Time deadline = pair.lab.world().Now() + 10ms;
  while (pair.lab.world().Now() < deadline) ASSERT_EQ(pair.Poll(*pair.a.queue), 0u);
}

void PollsAndWaits(Pair& pair) {
  for (std::uint64_t i = 0; i < kForEver; ++i) {
    ASSERT_EQ(pair.Poll(*pair.a.queue), 0u);
    pair.lab.world().WaitUntil(pair.lab.world().Now() + 1us);
  }
}

void PollsManyTimesAndGivesUp(Pair& pair) {
  for (std::uint64_t i = 0; i < sim::Progress::kInVain / 2; ++i) {
    ASSERT_EQ(pair.Poll(*pair.a.queue), 0u);
  }
}

void PollsManyQueuesAFewTimesEach(Pair& pair) {
  std::vector<std::unique_ptr<fabric::CompletionQueue>> queues;
  for (int i = 0; i < 32; ++i) queues.push_back(Must(pair.a.domain->OpenCompletionQueue({})));
  for (std::uint64_t i = 0; i < kForEver / queues.size(); ++i) {
    for (const auto& queue : queues) ASSERT_EQ(pair.Poll(*queue), 0u);
  }
}

coro::Task<absl::Status> SleepALot() {
  for (int i = 0; i < 1000; ++i) co_await coro::Sleep(1ms);
  co_return absl::OkStatus();
}

void SleepsInALoop(TwoNodes& nodes) { EXPECT_TRUE(nodes.loop.Run(SleepALot()).ok()); }

// ---- All of them ----

const Program kPrograms[] = {
    BAD(kCompletionQueueService, LeavesAQueueUnread),
    BAD(kCompletionQueueService, ReadsAQueueOnlyInTheBeginning),
    GOOD(ReadsAQueueOnceASecond),
    GOOD(SleepsWhileAnotherProgramRuns),
    GOOD(LeavesOneOldEntry),
    GOOD(SleepsForAnHour),
    BAD(kImmediateNamespace, SequenceNumbersWrap),
    BAD(kImmediateNamespace, TwoWritesShareAnImmediate),
    GOOD(CountsOneImmediate),
    GOOD(SequenceNumbersDiffer),
    GOOD(SequenceNumbersWrapBehindCompletions),
    GOOD(TwoPeersGetOneImmediate),
    BAD(kPeerIncarnation, WritesOnToAClosedPeer),
    BAD(kPeerIncarnation, WritesOnToTheOldAddress),
    BAD(kPeerIncarnation, SendsOnToTheOldAddress),
    BAD(kPeerIncarnation, WritesOnToAPeerThatDoesNotKnowIt),
    GOOD(GivesUpAClosedPeer),
    GOOD(InsertsTheNewAddress),
    GOOD(HearsOfAClosedPeerWithAFullQueue),
    GOOD(KeepsTryingUntilAPeerKnowsIt),
    GOOD(KeepsTryingADeadMachine),
    BAD(kProgress, PollsForNothing),
    BAD(kProgress, PollsForAMessageThatNobodySends),
    BAD(kProgress, BothPollForTheOther),
    BAD(kProgress, PollsForASendThatFindsNoReceive),
    BAD(kProgress, PollsACounterForNothing),
    GOOD(PollsForALateAnswer),
    GOOD(PollsUntilADeadline),
    GOOD(PollsAndWaits),
    GOOD(PollsManyTimesAndGivesUp),
    GOOD(PollsManyQueuesAFewTimesEach),
    GOOD(SleepsInALoop),
};

INSTANTIATE_TEST_SUITE_P(Progress, ProgramTest, ::testing::ValuesIn(kPrograms), NameOf);

}  // namespace
}  // namespace drydock::sim_testing
