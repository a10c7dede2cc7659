// Programs that retry accepted requests, forget refused ones, share contexts, destroy context
// owners that still wait, or use an endpoint from two threads at once; and their twins.

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/context_owner.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/checks/programs/twin_programs.h"
#include "drydock/sim/cluster/two_nodes.h"
#include "drydock/sim/device/observers.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::Completion;
using fabric::ContextOwner;
using fabric::ErrorCode;
using fabric::async::Node;
using sim::TwoNodes;

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
  pair.lab.world().checks().rules().contexts_are_names = false;
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
    pair.lab.world().timeline().RunFor(5ms);  // it is in the queue by now
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

coro::Task<absl::Status> WriteOnce(Node& from, fabric::RemoteBuffer target,
                                   fabric::async::BufferRef source, coro::Time deadline) {
  fabric::async::OperationOptions options;
  options.deadline = deadline;
  const Completion written = co_await from.endpoint().Write(source, target, from.peer(1), options);
  co_return from.endpoint().ToStatus(written, "write");
}

coro::Task<absl::Status> DropAWrite(TwoNodes& nodes) {
  const fabric::async::BufferRef target = nodes.b.Allocate(64).value();
  {
    coro::Scope scope;
    scope.Spawn(
        WriteOnce(nodes.a, target->region().remote(), nodes.a.Allocate(64).value(), coro::kNever));
  }
  co_await coro::Sleep(1ms);
  co_return absl::OkStatus();
}

void DropsAnAwaitOfFabricAsync(TwoNodes& nodes) {
  EXPECT_TRUE(nodes.loop.Run(DropAWrite(nodes)).ok());
}

void GivesUpAnAwaitOfFabricAsync(TwoNodes& nodes) {
  const fabric::async::BufferRef target = nodes.b.Allocate(64).value();
  const coro::Time soon = nodes.loop.Now() + 1us;
  const absl::Status status = nodes.loop.Run(
      WriteOnce(nodes.a, target->region().remote(), nodes.a.Allocate(64).value(), soon));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

// ---- Threads ----

// The processor is taken from a thread in the midst of a post, and another thread does something.
class Preemption final : public sim::Observer {
 public:
  Preemption(Pair& pair, std::function<void()> other)
      : observers_(pair.lab.world().observers()), other_(std::move(other)) {
    observers_.Add(*this);
  }
  ~Preemption() override { observers_.Remove(*this); }

  void OnPosted(const sim::QueuePair&, const fabric::efa_queue::SendWork&, const sim::Posted&,
                std::uint32_t) override {
    if (const auto other = std::exchange(other_, nullptr)) std::thread(other).join();
  }

 private:
  sim::Observers& observers_;
  std::function<void()> other_;
};

void ReadsTheQueueWhileAnotherThreadPosts(Pair& pair) {
  const Preemption preemption(pair, [&] { pair.Poll(*pair.a.queue); });
  ASSERT_EQ(pair.Write(1), ErrorCode::kOk);
  pair.Drain();
}

void PostsAReceiveWhileAnotherThreadSends(Pair& pair) {
  const Preemption preemption(
      pair, [&] { EXPECT_EQ(pair.a.endpoint->Recv(pair.a.RecvAt(0, 64, 2)), ErrorCode::kOk); });
  ASSERT_EQ(pair.Write(1), ErrorCode::kOk);
  pair.Drain();
}

// One endpoint of A's NIC with two completion queues: both are its thread's.
void ReadsTheQueueOfReceivesWhileAnotherThreadSends(Pair& pair) {
  const auto receives = *pair.a.domain->OpenCompletionQueue({});
  fabric::EndpointOptions options = pair.a.Parts();
  options.receive_queue = receives.get();
  const auto endpoint = *pair.a.domain->OpenEndpoint(options);
  ASSERT_TRUE(pair.b.peers->Insert(endpoint->address()).ok());
  const Preemption preemption(pair, [&] { pair.Poll(*receives); });
  ASSERT_EQ(endpoint->Write(pair.a.WriteTo(pair.b, 0, 64, 1)), ErrorCode::kOk);
  pair.Drain();
}

void AnotherThreadHasAnEndpointOfItsOwn(Pair& pair) {
  const Preemption preemption(pair, [&] { pair.Poll(*pair.b.queue); });
  ASSERT_EQ(pair.Write(1), ErrorCode::kOk);
  pair.Drain();
}

void ThreadsPostInTurn(Pair& pair) {
  ASSERT_EQ(pair.Write(1), ErrorCode::kOk);
  std::thread([&] { EXPECT_EQ(pair.Write(2, 64), ErrorCode::kOk); }).join();
  ASSERT_EQ(pair.Write(3, 128), ErrorCode::kOk);
  pair.Drain();
}

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
    GOOD(DropsAnAwaitOfFabricAsync),
    GOOD(GivesUpAnAwaitOfFabricAsync),
    BAD(kOneThread, ReadsTheQueueWhileAnotherThreadPosts),
    BAD(kOneThread, PostsAReceiveWhileAnotherThreadSends),
    BAD(kOneThread, ReadsTheQueueOfReceivesWhileAnotherThreadSends),
    GOOD(AnotherThreadHasAnEndpointOfItsOwn),
    GOOD(ThreadsPostInTurn),
};

INSTANTIATE_TEST_SUITE_P(Lifetime, ProgramTest, ::testing::ValuesIn(kPrograms), NameOf);

// Such a world may be made in one thread and end in another, and owners are a thread's own.
TEST(OwnersTest, AWorldOnTheMachinesClockWatchesNone) {
  Lab lab(1, Small(), sim::ClockKind::kReal);
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  fabric::WriteRequest request = a.WriteTo(b, 0, 64, 1);
  {
    const ContextOwner owner;
    request.context = owner.context();
    ASSERT_EQ(a.endpoint->Write(request), ErrorCode::kOk);
  }
  Completion completion;
  while (a.queue->Read({&completion, 1}).count == 0) {
  }
  EXPECT_TRUE(lab.world().checks().TakeFindings().empty());
}

}  // namespace
}  // namespace drydock::sim_testing
