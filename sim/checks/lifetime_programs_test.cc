// Programs that break a rule of retries, contexts, lifetimes, service, addresses or progress, and
// their twins that do not. Each bad one is found out by exactly its check, the good ones by none;
// and the same seed finds the same.

#include <array>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coro/scope.h"
#include "coro/sleep.h"
#include "coro/task.h"
#include "fabric/context_owner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/checks/finding.h"
#include "sim/testing/lab.h"
#include "testing/harness/two_nodes.h"

namespace sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::Completion;
using fabric::ContextOwner;
using fabric::ErrorCode;
using harness::TestNode;
using harness::TwoNodes;
using sim::Check;
using sim::Finding;

// Two machines that know each other.
struct Pair {
  Pair() : lab(1), a(lab.Add("a")), b(lab.Add("b")) {
    lab.Introduce();
    lab.world().checks().set_contexts_are_names(true);          // which a lab takes back
    lab.world().OnPollingInVain([](const sim::WaitGraph&) {});  // the finding is enough
  }

  ErrorCode Write(std::uint64_t context, std::size_t offset = 0) {
    return a.endpoint->Write(a.WriteTo(b, offset, 64, context));
  }
  ErrorCode WriteWith(std::uint32_t immediate, std::uint64_t context, std::size_t offset) {
    fabric::WriteRequest request = a.WriteTo(b, offset, 64, context);
    request.immediate = immediate;
    return a.endpoint->Write(request);
  }
  ErrorCode Send(std::uint64_t context, std::size_t length = 64) {
    return a.endpoint->Send(a.SendTo(b, 0, length, context));
  }
  void Receive(std::uint64_t context, std::size_t offset, std::size_t length = 64) {
    ASSERT_EQ(b.endpoint->Recv(b.RecvAt(offset, length, context)), ErrorCode::kOk);
  }
  // Writes with contexts from 1 on, each to its own place, until one is refused: returns its
  // context.
  std::uint64_t FillTheQueue() {
    std::uint64_t context = 1;
    while (Write(context, 64 * context) == ErrorCode::kOk) ++context;
    return context;
  }
  // Reads everything, and forgets it.
  void Drain(coro::Duration duration = 5ms) {
    lab.Watch(duration);
    a.completions.clear();
    b.completions.clear();
  }
  // As a loop does that has nothing to do any more.
  void WaitForEver() {
    while (lab.world().WaitUntil(coro::kNever)) lab.Pump();
  }
  std::size_t Poll(fabric::CompletionQueue& queue) {
    Completion completion;
    return queue.Read({&completion, 1}).count;
  }

  Lab lab;
  Side& a;
  Side& b;
};

// ---- Retries ----

void PostsAnAcceptedWriteAgain(Pair& pair) {
  ASSERT_EQ(pair.Write(1), ErrorCode::kOk);
  ASSERT_EQ(pair.Write(1), ErrorCode::kOk);
  pair.Drain();
}

void PostsAnAcceptedReadAgain(Pair& pair) {
  const fabric::ReadRequest read = pair.a.ReadFrom(pair.b, 0, 64, 1);
  ASSERT_EQ(pair.a.endpoint->Read(read), ErrorCode::kOk);
  ASSERT_EQ(pair.a.endpoint->Read(read), ErrorCode::kOk);
  pair.Drain();
}

void PostsAnAcceptedSendAgain(Pair& pair) {
  pair.Receive(1, 0);
  pair.Receive(2, 64);
  ASSERT_EQ(pair.Send(1), ErrorCode::kOk);
  ASSERT_EQ(pair.Send(1), ErrorCode::kOk);
  pair.Drain();
}

void PostsAnAcceptedImmediateAgain(Pair& pair) {  // the peer counts one too many
  ASSERT_EQ(pair.WriteWith(5, 1, 0), ErrorCode::kOk);
  ASSERT_EQ(pair.WriteWith(5, 1, 0), ErrorCode::kOk);
  pair.Drain();
}

std::vector<fabric::WriteRequest> MoreThanFits(Pair& pair) {
  std::vector<fabric::WriteRequest> requests;
  const std::size_t depth = pair.a.endpoint->limits().send_queue_depth;
  for (std::uint64_t i = 1; i <= depth + 8; ++i) {
    requests.push_back(pair.a.WriteTo(pair.b, 64 * i, 64, i));
  }
  return requests;
}

void RetriesABatchAsAWhole(Pair& pair) {
  const std::vector<fabric::WriteRequest> requests = MoreThanFits(pair);
  ASSERT_EQ(pair.a.endpoint->Write(requests).error, ErrorCode::kAgain);
  for (int i = 0; i < 8; ++i) {
    pair.lab.Until([&] { return !pair.a.completions.empty(); });
    pair.a.completions.clear();
    ASSERT_EQ(pair.a.endpoint->Write(requests).error, ErrorCode::kAgain);
  }
  pair.Drain();
}

void RetriesWhatIsLeftOfABatch(Pair& pair) {
  const std::vector<fabric::WriteRequest> requests = MoreThanFits(pair);
  std::span<const fabric::WriteRequest> rest = requests;
  while (!rest.empty()) {
    rest = rest.subspan(pair.a.endpoint->Write(rest).accepted);
    pair.lab.Pump();
  }
  pair.Drain();
  pair.WaitForEver();
}

void ForgetsARefusedWrite(Pair& pair) {
  const std::uint64_t refused = pair.FillTheQueue();
  pair.Drain();
  EXPECT_FALSE(pair.lab.Until([&] { return !pair.a.completions.empty(); }, 1ms)) << refused;
  pair.WaitForEver();
}

void ForgetsARefusedSend(Pair& pair) {
  const std::size_t depth = pair.a.endpoint->limits().send_queue_depth;
  pair.Receive(1, 0);
  for (std::uint64_t i = 1; i <= depth; ++i) ASSERT_EQ(pair.Send(i), ErrorCode::kOk);
  ASSERT_EQ(pair.Send(depth + 1, 32), ErrorCode::kAgain);
  pair.Drain();
  pair.WaitForEver();  // for the last message
}

void RetriesARefusedWrite(Pair& pair) {
  const std::uint64_t refused = pair.FillTheQueue();
  while (pair.Write(refused, 64 * refused) == ErrorCode::kAgain) pair.Drain(1us);
  pair.Drain();
  pair.WaitForEver();
}

void RetriesARefusedWriteWithAnotherContext(Pair& pair) {
  const std::uint64_t refused = pair.FillTheQueue();
  pair.Drain();
  ASSERT_EQ(pair.Write(9999, 64 * refused), ErrorCode::kOk);
  pair.Drain();
  pair.WaitForEver();
}

void DropsARefusedWriteAndEnds(Pair& pair) {  // one that was not worth the trouble
  pair.FillTheQueue();
  pair.Drain();
}

void WritesTheSameAgainAfterItsCompletion(Pair& pair) {
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(pair.Write(1), ErrorCode::kOk);
    EXPECT_TRUE(pair.lab.Take(pair.a, 1).ok());
  }
}

void WritesTheSameTwiceWithTwoContexts(Pair& pair) {
  ASSERT_EQ(pair.Write(1), ErrorCode::kOk);
  ASSERT_EQ(pair.Write(2), ErrorCode::kOk);
  pair.Drain();
}

void WritesTheSameManyTimesUnsignalled(Pair& pair) {  // a heartbeat
  for (int i = 0; i < 10; ++i) ASSERT_EQ(pair.Write(0), ErrorCode::kOk);
  pair.Drain();
}

// ---- Contexts ----

void TwoWritesShareAContext(Pair& pair) {
  ASSERT_EQ(pair.Write(7, 0), ErrorCode::kOk);
  ASSERT_EQ(pair.Write(7, 64), ErrorCode::kOk);
  pair.Drain();
}

void TwoReadsShareAContext(Pair& pair) {
  ASSERT_EQ(pair.a.endpoint->Read(pair.a.ReadFrom(pair.b, 0, 64, 7)), ErrorCode::kOk);
  ASSERT_EQ(pair.a.endpoint->Read(pair.a.ReadFrom(pair.b, 64, 64, 7)), ErrorCode::kOk);
  pair.Drain();
}

void TwoSendsShareAContext(Pair& pair) {
  pair.Receive(1, 0);
  pair.Receive(2, 64);
  ASSERT_EQ(pair.Send(7, 32), ErrorCode::kOk);
  ASSERT_EQ(pair.Send(7, 48), ErrorCode::kOk);
  pair.Drain();
}

void TwoReceivesShareAContext(Pair& pair) {
  pair.Receive(7, 0);
  pair.Receive(7, 64);
}

void WritesToTwoPeersShareAContext(Pair& pair) {
  Side& c = pair.lab.Add("c");
  pair.a.Insert(c);
  c.Insert(pair.a);
  ASSERT_EQ(pair.Write(7), ErrorCode::kOk);
  ASSERT_EQ(pair.a.endpoint->Write(pair.a.WriteTo(c, 0, 64, 7)), ErrorCode::kOk);
  pair.Drain();
}

void ReusesAContextAfterItGaveUpWaiting(Pair& pair) {
  pair.b.node.Kill();
  ASSERT_EQ(pair.Write(7, 0), ErrorCode::kOk);
  pair.Drain(1ms);
  ASSERT_EQ(pair.Write(7, 64), ErrorCode::kOk);
  pair.Drain(10s);
}

void ReusesAContextAfterItsFailure(Pair& pair) {
  pair.b.node.Kill();
  ASSERT_EQ(pair.Write(7, 0), ErrorCode::kOk);
  EXPECT_FALSE(pair.lab.Take(pair.a, 7).ok());
  ASSERT_EQ(pair.Write(7, 64), ErrorCode::kOk);
  EXPECT_FALSE(pair.lab.Take(pair.a, 7).ok());
}

void ReusesAContextAfterItsCompletion(Pair& pair) {
  for (std::size_t i = 0; i < 10; ++i) {
    ASSERT_EQ(pair.Write(7, 64 * i), ErrorCode::kOk);
    EXPECT_TRUE(pair.lab.Take(pair.a, 7).ok());
  }
}

void UsesOneNumberForEachKind(Pair& pair) {
  ASSERT_EQ(pair.a.endpoint->Recv(pair.a.RecvAt(0, 64, 7)), ErrorCode::kOk);
  pair.Receive(7, 0);
  ASSERT_EQ(pair.Write(7, 64), ErrorCode::kOk);
  ASSERT_EQ(pair.a.endpoint->Read(pair.a.ReadFrom(pair.b, 128, 64, 7)), ErrorCode::kOk);
  ASSERT_EQ(pair.Send(7), ErrorCode::kOk);
  pair.Drain();
}

void ReceivesOfNothingShareAContext(Pair& pair) {  // room for three messages of nothing
  for (int i = 0; i < 3; ++i) pair.Receive(7, 0, 0);
  for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_EQ(pair.Send(i, 0), ErrorCode::kOk);
  pair.Drain();
}

void ContextsAreTags(Pair& pair) {  // it counts completions, and says so
  pair.lab.world().checks().set_contexts_are_names(false);
  for (std::size_t i = 0; i < 4; ++i) ASSERT_EQ(pair.Write(7, 64 * i), ErrorCode::kOk);
  ASSERT_EQ(pair.Write(7, 0), ErrorCode::kOk);
  pair.Drain();
}

void TwoEndpointsUseTheSameNumbers(Pair& pair) {
  Side& other = pair.lab.AddBeside(pair.a);
  other.Insert(pair.b);
  pair.b.Insert(other);
  ASSERT_EQ(pair.Write(7, 0), ErrorCode::kOk);
  ASSERT_EQ(other.endpoint->Write(other.WriteTo(pair.b, 64, 64, 7)), ErrorCode::kOk);
  pair.Drain();
}

void ReusesAContextAfterItsEndpointClosed(Pair& pair) {
  ASSERT_EQ(pair.Write(7, 0), ErrorCode::kOk);
  ASSERT_TRUE(pair.a.endpoint->Close().ok());
  pair.a.endpoint = Must(pair.a.domain->OpenEndpoint(pair.a.Parts()));
  ASSERT_EQ(pair.Write(7, 64), ErrorCode::kOk);
  pair.Drain();
}

// ---- Lifetimes ----

ErrorCode WriteFor(Pair& pair, const ContextOwner& owner) {
  fabric::WriteRequest request = pair.a.WriteTo(pair.b, 0, 64, 1);
  request.context = owner.context();
  return pair.a.endpoint->Write(request);
}

void OwnerOfAWriteDies(Pair& pair) {
  {
    ContextOwner owner;
    ASSERT_EQ(WriteFor(pair, owner), ErrorCode::kOk);
  }
  pair.Drain();
}

void OwnerOfAReceiveDies(Pair& pair) {  // it had waited long enough
  auto owner = std::make_unique<ContextOwner>();
  fabric::RecvRequest request = pair.b.RecvAt(0, 64, 1);
  request.context = owner->context();
  ASSERT_EQ(pair.b.endpoint->Recv(request), ErrorCode::kOk);
  pair.Drain(1ms);
  owner.reset();
  ASSERT_EQ(pair.Send(1), ErrorCode::kOk);
  pair.Drain();
}

void OwnerDiesBeforeTheCompletionIsRead(Pair& pair) {
  {
    ContextOwner owner;
    ASSERT_EQ(WriteFor(pair, owner), ErrorCode::kOk);
    pair.lab.world().RunFor(5ms);  // it is in the queue by now
  }
  pair.Drain();
}

void OwnerOutlivesItsCompletion(Pair& pair) {
  ContextOwner owner;
  ASSERT_EQ(WriteFor(pair, owner), ErrorCode::kOk);
  pair.Drain();
}

void OwnerHandsItsContextOver(Pair& pair) {
  {
    ContextOwner owner;
    ASSERT_EQ(WriteFor(pair, owner), ErrorCode::kOk);
    owner.HandOver();
  }
  pair.Drain();
}

void OwnerOutlivesItsEndpoint(Pair& pair) {
  ContextOwner owner;
  ASSERT_EQ(WriteFor(pair, owner), ErrorCode::kOk);
  ASSERT_TRUE(pair.a.endpoint->Close().ok());
}

void OwnerOfARefusedWriteDies(Pair& pair) {
  pair.FillTheQueue();
  {
    ContextOwner owner;
    ASSERT_EQ(WriteFor(pair, owner), ErrorCode::kAgain);
  }
  pair.Drain();
}

// An awaiter as one writes it without fabric/async: its address is the context. It is never
// resumed; these programs are about its end.
struct HomeMadeAwaiter {
  Pair& pair;
  ContextOwner owner{};

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<>) { ASSERT_EQ(WriteFor(pair, owner), ErrorCode::kOk); }
  void await_resume() const {}
};

coro::Task<absl::Status> WriteAndWait(Pair& pair) {
  HomeMadeAwaiter awaiter{pair};
  co_await awaiter;
  co_return absl::OkStatus();
}

void FrameOfAnAwaiterIsDestroyed(Pair& pair) {
  {
    coro::Scope scope;
    scope.Spawn(WriteAndWait(pair));
  }
  pair.Drain();
}

void FrameOfAnAwaiterIsDestroyedAfterTheEnd(Pair& pair) {
  coro::Scope scope;
  scope.Spawn(WriteAndWait(pair));
  pair.Drain();
}

coro::Task<absl::Status> WriteOnce(TestNode& from, fabric::RemoteBuffer target,
                                   fabric::async::BufferRef source, coro::Time deadline) {
  fabric::async::OperationOptions options;
  options.deadline = deadline;
  const Completion written = co_await from.endpoint->Write(source, target, from.peer, options);
  co_return from.endpoint->ToStatus(written, "write");
}

coro::Task<absl::Status> DropAWrite(TwoNodes& nodes) {
  const fabric::async::BufferRef target = nodes.b.Buffer(64);
  {
    coro::Scope scope;
    scope.Spawn(WriteOnce(nodes.a, target->region().remote(), nodes.a.Buffer(64), coro::kNever));
  }
  co_await coro::Sleep(1ms);
  co_return absl::OkStatus();
}

void DropsAnAwaitOfFabricAsync(TwoNodes& nodes) {
  EXPECT_TRUE(nodes.loop.Run(DropAWrite(nodes)).ok());
}

void GivesUpAnAwaitOfFabricAsync(TwoNodes& nodes) {
  const fabric::async::BufferRef target = nodes.b.Buffer(64);
  const coro::Time soon = nodes.loop.Now() + 1us;
  const absl::Status status =
      nodes.loop.Run(WriteOnce(nodes.a, target->region().remote(), nodes.a.Buffer(64), soon));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

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
      pair.lab.world().RunFor(5ms);
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

void LeavesOneOldEntry(Pair& pair) {  // nothing comes after it: nobody waits for its slot
  Aside aside(pair);
  aside.Notify(pair, 1);
  for (int i = 0; i < 2000; ++i) {
    pair.lab.world().RunFor(5ms);
    static_cast<void>(pair.Poll(*pair.b.queue));
  }
}

void SleepsForAnHour(Pair& pair) {
  Aside aside(pair);
  aside.Notify(pair, 1);
  pair.lab.world().RunFor(1h);
  aside.Notify(pair, 2);
  pair.lab.world().RunFor(1h);
  EXPECT_EQ(pair.Poll(*aside.queue), 1u);
}

// ---- Immediates ----

void SequenceNumbersWrap(Pair& pair) {
  pair.lab.world().checks().RequireDistinctImmediates();
  for (std::uint32_t i = 0; i < 9; ++i) {
    ASSERT_EQ(pair.WriteWith(i % 8, i + 1, 64 * i), ErrorCode::kOk);
  }
  pair.Drain();
}

void TwoWritesShareAnImmediate(Pair& pair) {
  pair.lab.world().checks().RequireDistinctImmediates();
  ASSERT_EQ(pair.WriteWith(5, 1, 0), ErrorCode::kOk);
  ASSERT_EQ(pair.WriteWith(5, 2, 64), ErrorCode::kOk);
  pair.Drain();
}

void CountsOneImmediate(Pair& pair) {
  for (std::uint32_t i = 0; i < 9; ++i) ASSERT_EQ(pair.WriteWith(5, i + 1, 64 * i), ErrorCode::kOk);
  pair.Drain();
}

void SequenceNumbersDiffer(Pair& pair) {
  pair.lab.world().checks().RequireDistinctImmediates();
  for (std::uint32_t i = 0; i < 9; ++i) ASSERT_EQ(pair.WriteWith(i, i + 1, 64 * i), ErrorCode::kOk);
  pair.Drain();
}

void SequenceNumbersWrapBehindCompletions(Pair& pair) {
  pair.lab.world().checks().RequireDistinctImmediates();
  for (std::uint32_t i = 0; i < 32; ++i) {
    ASSERT_EQ(pair.WriteWith(i % 8, i + 1, 64 * i), ErrorCode::kOk);
    if (i % 8 == 7) pair.Drain();
  }
}

void TwoPeersGetOneImmediate(Pair& pair) {
  pair.lab.world().checks().RequireDistinctImmediates();
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

void KeepsTryingADeadMachine(Pair& pair) {  // it may come back: nobody said that it is gone
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

coro::Task<absl::Status> SleepALot() {
  for (int i = 0; i < 1000; ++i) co_await coro::Sleep(1ms);
  co_return absl::OkStatus();
}

void SleepsInALoop(TwoNodes& nodes) { EXPECT_TRUE(nodes.loop.Run(SleepALot()).ok()); }

// ---- All of them ----

struct Program {
  const char* name;
  std::optional<Check> breaks;
  void (*in_pair)(Pair&) = nullptr;
  void (*in_nodes)(TwoNodes&) = nullptr;

  std::vector<Finding> Run() const {
    if (in_pair != nullptr) {
      Pair pair;
      in_pair(pair);
      return pair.lab.world().checks().TakeFindings();
    }
    TwoNodes nodes;
    in_nodes(nodes);
    return nodes.world.checks().TakeFindings();
  }
};

void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

#define BAD(check, program) \
  Program { #program, Check::check, &program }
#define GOOD(program) \
  Program { #program, std::nullopt, &program }
#define GOOD_ASYNC(program) \
  Program { #program, std::nullopt, nullptr, &program }

const Program kPrograms[] = {
    BAD(kRetryIdempotence, PostsAnAcceptedWriteAgain),
    BAD(kRetryIdempotence, PostsAnAcceptedReadAgain),
    BAD(kRetryIdempotence, PostsAnAcceptedSendAgain),
    BAD(kRetryIdempotence, PostsAnAcceptedImmediateAgain),
    BAD(kRetryIdempotence, RetriesABatchAsAWhole),
    BAD(kRetryIdempotence, ForgetsARefusedWrite),
    BAD(kRetryIdempotence, ForgetsARefusedSend),
    GOOD(RetriesWhatIsLeftOfABatch),
    GOOD(RetriesARefusedWrite),
    GOOD(RetriesARefusedWriteWithAnotherContext),
    GOOD(DropsARefusedWriteAndEnds),
    GOOD(WritesTheSameAgainAfterItsCompletion),
    GOOD(WritesTheSameTwiceWithTwoContexts),
    GOOD(WritesTheSameManyTimesUnsignalled),
    BAD(kContextOwnership, TwoWritesShareAContext),
    BAD(kContextOwnership, TwoReadsShareAContext),
    BAD(kContextOwnership, TwoSendsShareAContext),
    BAD(kContextOwnership, TwoReceivesShareAContext),
    BAD(kContextOwnership, WritesToTwoPeersShareAContext),
    BAD(kContextOwnership, ReusesAContextAfterItGaveUpWaiting),
    GOOD(ReusesAContextAfterItsFailure),
    GOOD(ReusesAContextAfterItsCompletion),
    GOOD(UsesOneNumberForEachKind),
    GOOD(ReceivesOfNothingShareAContext),
    GOOD(ContextsAreTags),
    GOOD(TwoEndpointsUseTheSameNumbers),
    GOOD(ReusesAContextAfterItsEndpointClosed),
    BAD(kAwaiterLifetime, OwnerOfAWriteDies),
    BAD(kAwaiterLifetime, OwnerOfAReceiveDies),
    BAD(kAwaiterLifetime, OwnerDiesBeforeTheCompletionIsRead),
    BAD(kAwaiterLifetime, FrameOfAnAwaiterIsDestroyed),
    GOOD(OwnerOutlivesItsCompletion),
    GOOD(OwnerHandsItsContextOver),
    GOOD(OwnerOutlivesItsEndpoint),
    GOOD(OwnerOfARefusedWriteDies),
    GOOD(FrameOfAnAwaiterIsDestroyedAfterTheEnd),
    GOOD_ASYNC(DropsAnAwaitOfFabricAsync),
    GOOD_ASYNC(GivesUpAnAwaitOfFabricAsync),
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
    GOOD_ASYNC(SleepsInALoop),
};

class LifetimeProgramTest : public ::testing::TestWithParam<Program> {};

TEST_P(LifetimeProgramTest, IsFoundOutByItsCheckAndNoOther) {
  const std::vector<Finding> findings = GetParam().Run();
  for (const Finding& finding : findings) {
    EXPECT_EQ(GetParam().breaks, finding.check) << sim::ToText(finding);
  }
  EXPECT_EQ(findings.empty(), !GetParam().breaks.has_value());
}

TEST_P(LifetimeProgramTest, TheSameSeedFindsTheSame) {
  const auto texts = [] {
    std::string text;
    for (const Finding& finding : GetParam().Run()) text += sim::ToText(finding) + "\n";
    return text;
  };
  const std::string first = texts();
  EXPECT_EQ(first, texts());
}

INSTANTIATE_TEST_SUITE_P(All, LifetimeProgramTest, ::testing::ValuesIn(kPrograms),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace sim_testing
