#include "drydock/testing/benchmarks/coro_cases.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/now_task.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/task.h"
#include "drydock/coro/virtual_clock.h"
#include "drydock/coro/wait_list.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/completion_dispatcher.h"
#include "drydock/testing/benchmarks/coro_limits.h"
#include "drydock/testing/benchmarks/memory_fabric.h"
#include "drydock/testing/benchmarks/ring_operations.h"

namespace drydock::bench {
namespace {

using coro::Task;
using std::chrono::microseconds;
using std::chrono::seconds;

// ---- Tasks ----

[[gnu::noinline]] Task<int> Immediate(int value) { co_return value; }

Task<> AwaitMany(std::uint64_t operations) {
  int sum = 0;
  for (std::uint64_t i = 0; i < operations; ++i) {
    const int value = co_await Immediate(1);
    sum += value;
  }
  benchmark::DoNotOptimize(sum);
}

absl::Status RunTasks(std::uint64_t operations) {
  coro::VirtualClock clock;
  coro::EventLoop loop(clock);
  return loop.Run(AwaitMany(operations));
}

// ---- Switches ----

Task<> YieldMany(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) co_await coro::Yield();
}

Task<> YieldBoth(std::uint64_t operations) {
  std::vector<Task<>> both;
  both.push_back(YieldMany(operations / 2));
  both.push_back(YieldMany(operations / 2));
  co_await coro::WhenAll(std::move(both));
}

template <typename Clock>
absl::Status RunSwitches(std::uint64_t operations) {
  Clock clock;
  coro::EventLoop loop(clock);
  return loop.Run(YieldBoth(operations));
}

Task<> NoteTurns(char name, std::string& turns) {
  for (int i = 0; i < 4; ++i) {
    turns.push_back(name);
    co_await coro::Yield();
  }
}

Task<> NoteBoth(std::string& turns) {
  std::vector<Task<>> both;
  both.push_back(NoteTurns('a', turns));
  both.push_back(NoteTurns('b', turns));
  co_await coro::WhenAll(std::move(both));
}

absl::Status VerifySwitches() {
  coro::VirtualClock clock;
  coro::EventLoop loop(clock);
  std::string turns;
  RETURN_IF_ERROR(loop.Run(NoteBoth(turns)));
  if (turns == "abababab") return absl::OkStatus();
  return absl::InternalError(absl::StrCat("yields do not alternate: ", turns));
}

// ---- Events ----

struct PingPong {
  coro::WaitList ping;
  coro::WaitList pong;
};

Task<> Answer(PingPong& game, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    co_await game.ping.Wait();
    game.pong.NotifyOne();
  }
}

Task<> Ask(PingPong& game, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    game.ping.NotifyOne();
    co_await game.pong.Wait();
  }
}

Task<> Play(PingPong& game, std::uint64_t operations) {
  std::vector<Task<>> both;
  both.push_back(Answer(game, operations / 2));
  both.push_back(Ask(game, operations / 2));
  co_await coro::WhenAll(std::move(both));
}

absl::Status RunWakes(std::uint64_t operations) {
  coro::VirtualClock clock;
  coro::EventLoop loop(clock);
  PingPong game;
  return loop.Run(Play(game, operations));
}

// ---- Operations ----

// A loop with an asynchronous endpoint on it. Members die in reverse order.
struct Network {
  Network() {
    auto owned = std::make_unique<MemoryQueue>();
    queue = owned.get();
    dispatcher = std::make_unique<fabric::async::CompletionDispatcher>(loop, std::move(owned));
    endpoint = std::make_unique<fabric::async::AsyncEndpoint>(
        *dispatcher, std::make_unique<MemoryEndpoint>(*queue));
  }

  coro::SteadyClock clock;
  coro::EventLoop loop{clock};
  fabric::async::BufferSlice slice{MakeMemoryBuffer(64)};
  MemoryQueue* queue;
  std::unique_ptr<fabric::async::CompletionDispatcher> dispatcher;
  std::unique_ptr<fabric::async::AsyncEndpoint> endpoint;
};

Task<absl::Status> WriteMany(Network& network, std::uint64_t times, bool with_deadline) {
  fabric::async::OperationOptions options;
  const fabric::RemoteBuffer target;
  for (std::uint64_t i = 0; i < times; ++i) {
    if (with_deadline) options.deadline = coro::After(network.loop.Now(), seconds(10));
    const fabric::Completion done =
        co_await network.endpoint->Write(network.slice, target, fabric::Peer{}, options);
    if (!done.ok()) co_return network.endpoint->ToStatus(done, "write");
  }
  co_return absl::OkStatus();
}

Task<absl::Status> WriteInParallel(Network& network, std::uint64_t operations, bool with_deadline) {
  std::vector<Task<absl::Status>> writers;
  for (std::size_t i = 0; i < kOperationsInFlight; ++i) {
    writers.push_back(WriteMany(network, operations / kOperationsInFlight, with_deadline));
  }
  const std::vector<absl::Status> results = co_await coro::WhenAll(std::move(writers));
  for (const absl::Status& result : results) CO_RETURN_IF_ERROR(result);
  co_return absl::OkStatus();
}

// ---- The loop's own part of them ----

// A loop with a ring on it.
struct Ring {
  coro::SteadyClock clock;
  coro::EventLoop loop{clock};
  RingQueue queue{loop, MakeMemoryBuffer(64)};
};

// Posts, waits, looks at the status, posts again: what the limit does, too. Returns the failures.
Task<std::uint64_t> PostMany(Ring& ring, std::uint64_t times) {
  std::uint64_t failures = 0;
  for (; times > 0; --times) {
    const std::uint32_t status = co_await RingOperation(ring.queue);
    if (status != 0) ++failures;
  }
  co_return failures;
}

Task<std::uint64_t> PostManyWithDeadline(Ring& ring, std::uint64_t times) {
  std::uint64_t failures = 0;
  for (; times > 0; --times) {
    const coro::Time deadline = coro::After(ring.loop.Now(), seconds(10));
    const std::uint32_t status = co_await TimedRingOperation(ring.queue, deadline);
    if (status != 0) ++failures;
  }
  co_return failures;
}

Task<absl::Status> PostInParallel(Ring& ring, std::uint64_t operations, bool with_deadline) {
  const std::uint64_t times = operations / kOperationsInFlight;
  std::vector<Task<std::uint64_t>> posters;
  for (std::size_t i = 0; i < kOperationsInFlight; ++i) {
    posters.push_back(with_deadline ? PostManyWithDeadline(ring, times) : PostMany(ring, times));
  }
  const std::vector<std::uint64_t> failures = co_await coro::WhenAll(std::move(posters));
  for (const std::uint64_t count : failures) {
    if (count != 0) co_return absl::InternalError("an operation in memory failed");
  }
  co_return absl::OkStatus();
}

// One operation, awaited through kLayers coroutines of type Kind<std::uint32_t>.
template <template <typename> typename Kind, int kLayers>
Kind<std::uint32_t> PostThrough(Ring& ring) {
  if constexpr (kLayers == 1) {
    const std::uint32_t status = co_await RingOperation(ring.queue);
    co_return status;
  } else {
    const std::uint32_t status = co_await PostThrough<Kind, kLayers - 1>(ring);
    co_return status;
  }
}

template <template <typename> typename Kind, int kLayers>
Task<absl::Status> PostInLayers(Ring& ring, std::uint64_t operations) {
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::uint32_t status = co_await PostThrough<Kind, kLayers>(ring);
    if (status != 0) co_return absl::InternalError("an operation in memory failed");
  }
  co_return absl::OkStatus();
}

template <template <typename> typename Kind, int kLayers>
Case LayersCase(const char* name, const std::shared_ptr<Ring>& ring) {
  return {name, 1, [ring](std::uint64_t n) {
            return ring->loop.Run(PostInLayers<Kind, kLayers>(*ring, n));
          }};
}

// ---- Many ----

Task<> YieldOnce() { co_await coro::Yield(); }

Task<> Gather() {
  std::vector<Task<>> tasks;
  tasks.reserve(kManyTasks);
  for (std::size_t i = 0; i < kManyTasks; ++i) tasks.push_back(YieldOnce());
  co_await coro::WhenAll(std::move(tasks));
}

absl::Status RunGathers(std::uint64_t operations) {
  coro::VirtualClock clock;
  coro::EventLoop loop(clock);
  for (std::uint64_t done = 0; done < operations; done += kManyTasks) {
    RETURN_IF_ERROR(loop.Run(Gather()));
  }
  return absl::OkStatus();
}

// 1 to 5000 us, the same sequence each time.
coro::Duration SleepNumber(std::size_t number) {
  return microseconds(1 + number * 2654435761u % 5000);
}

Task<> SleepOnce(coro::Duration delay) { co_await coro::Sleep(delay); }

Task<> SleepMany() {
  std::vector<Task<>> tasks;
  tasks.reserve(kManyTasks);
  for (std::size_t i = 0; i < kManyTasks; ++i) tasks.push_back(SleepOnce(SleepNumber(i)));
  co_await coro::WhenAll(std::move(tasks));
}

absl::Status RunSleeps(std::uint64_t operations) {
  coro::VirtualClock clock;
  coro::EventLoop loop(clock);
  for (std::uint64_t done = 0; done < operations; done += kManyTasks) {
    RETURN_IF_ERROR(loop.Run(SleepMany()));
  }
  return absl::OkStatus();
}

Task<> NoteWaking(coro::VirtualClock& clock, coro::Duration delay, std::uint64_t& wrong,
                  coro::Time& last) {
  const coro::Time due = coro::After(clock.Now(), delay);
  co_await coro::Sleep(delay);
  if (clock.Now() != due || clock.Now() < last) ++wrong;
  last = clock.Now();
}

Task<> NoteWakings(coro::VirtualClock& clock, std::uint64_t& wrong, coro::Time& last) {
  std::vector<Task<>> tasks;
  for (std::size_t i = 0; i < 100; ++i) {
    tasks.push_back(NoteWaking(clock, SleepNumber(i), wrong, last));
  }
  co_await coro::WhenAll(std::move(tasks));
}

absl::Status VerifySleeps() {
  coro::VirtualClock clock;
  coro::EventLoop loop(clock);
  std::uint64_t wrong = 0;
  coro::Time last{};
  RETURN_IF_ERROR(loop.Run(NoteWakings(clock, wrong, last)));
  if (wrong == 0 && last > coro::VirtualClock::kStart) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(wrong, " of 100 sleeps ended at another time"));
}

// ---- Errors ----

template <int kLayers>
Task<absl::Status> FailThrough() {
  if constexpr (kLayers == 1) {
    co_return absl::UnavailableError("peer is gone");
  } else {
    CO_RETURN_IF_ERROR(co_await FailThrough<kLayers - 1>());
    co_return absl::OkStatus();
  }
}

Task<absl::Status> FailMany(std::uint64_t operations) {
  for (std::uint64_t i = 0; i < operations; ++i) {
    const absl::Status status = co_await FailThrough<5>();
    if (!absl::IsUnavailable(status)) co_return absl::InternalError("an error got lost");
  }
  co_return absl::OkStatus();
}

absl::Status RunErrors(std::uint64_t operations) {
  coro::VirtualClock clock;
  coro::EventLoop loop(clock);
  return loop.Run(FailMany(operations));
}

// ---- Turns ----

absl::Status RunEmptyTurns(Ring& ring, std::uint64_t operations) {
  for (std::uint64_t i = 0; i < operations; ++i) {
    ring.loop.Select();
    ring.loop.RunOne();
  }
  return absl::OkStatus();
}

absl::Status RunEmptyPolls(Ring& ring, std::uint64_t operations) {
  coro::Selector* queue = &ring.queue;
  benchmark::DoNotOptimize(queue);  // a virtual call, as the loop makes it
  for (std::uint64_t i = 0; i < operations; ++i) {
    if (queue->Poll(64) != 0) return absl::InternalError("the queue is not empty");
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Case> MakeCoroCases() {
  const auto network = std::make_shared<Network>();
  const auto ring = std::make_shared<Ring>();
  return {
      {kTask, 1, RunTasks},
      {kSwitchVirtual, 2, RunSwitches<coro::VirtualClock>},
      {kSwitchSteady, 2, RunSwitches<coro::SteadyClock>},
      {kWake, 2, RunWakes},
      {kCompletion, kOperationsInFlight,
       [ring](std::uint64_t n) { return ring->loop.Run(PostInParallel(*ring, n, false)); }},
      {kDeadline, kOperationsInFlight,
       [ring](std::uint64_t n) { return ring->loop.Run(PostInParallel(*ring, n, true)); }},
      LayersCase<coro::NowTask, 1>(kOneCall, ring),
      LayersCase<coro::NowTask, 5>(kFiveCalls, ring),
      LayersCase<Task, 1>(kOneTask, ring),
      LayersCase<Task, 5>(kFiveTasks, ring),
      {kFabric, kOperationsInFlight,
       [network](std::uint64_t n) {
         return network->loop.Run(WriteInParallel(*network, n, false));
       }},
      {kFabricDeadline, kOperationsInFlight,
       [network](std::uint64_t n) {
         return network->loop.Run(WriteInParallel(*network, n, true));
       }},
      {kGather, kManyTasks, RunGathers},
      {kSleeps, kManyTasks, RunSleeps},
      {kEmptyTurn, 1, [ring](std::uint64_t n) { return RunEmptyTurns(*ring, n); }},
      {kEmptyPoll, 1, [ring](std::uint64_t n) { return RunEmptyPolls(*ring, n); }},
      {kError, 1, RunErrors},
  };
}

absl::Status VerifyCoroCases() {
  RETURN_IF_ERROR(VerifySwitches());
  RETURN_IF_ERROR(VerifySleeps());
  return RunErrors(1);
}

}  // namespace drydock::bench
