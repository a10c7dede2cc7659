#include "drydock/testing/benchmarks/coro_limits.h"

#include <array>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <queue>
#include <utility>

#include "benchmark/benchmark.h"
#include "drydock/testing/benchmarks/completion_ring.h"

namespace drydock::bench {
namespace {

// The plainest coroutine type: starts suspended, stays suspended at its end, owned by hand.
struct Bare {
  struct promise_type {
    Bare get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const { std::terminate(); }
  };
  std::coroutine_handle<> handle;
};

class OwnedBare {
 public:
  explicit OwnedBare(Bare bare) : handle_(bare.handle) {
    benchmark::DoNotOptimize(handle_);  // the optimiser must not know the coroutine
  }
  OwnedBare(const OwnedBare&) = delete;
  OwnedBare& operator=(const OwnedBare&) = delete;
  ~OwnedBare() { handle_.destroy(); }

  std::coroutine_handle<> handle() const { return handle_; }

 private:
  std::coroutine_handle<> handle_;
};

// ---- R ----

Bare SuspendForEver() {
  for (;;) co_await std::suspend_always();
}

absl::Status Resume(std::uint64_t operations) {
  const OwnedBare first(SuspendForEver());
  const OwnedBare second(SuspendForEver());
  for (std::uint64_t i = 0; i < operations; i += 2) {
    first.handle().resume();
    second.handle().resume();
  }
  return absl::OkStatus();
}

// ---- M ----

[[gnu::noinline]] Bare EndAtOnce() { co_return; }

absl::Status CreateAndDestroy(std::uint64_t operations) {
  for (std::uint64_t i = 0; i < operations; ++i) {
    const OwnedBare coroutine(EndAtOnce());
    coroutine.handle().resume();
  }
  return absl::OkStatus();
}

// ---- P ----

// What a coroutine waits for, and what it is told.
struct BareOperation {
  std::coroutine_handle<> waiter;
  std::uint32_t status = 1;
};

// Posts, waits, looks at the status, posts again.
Bare PostForEver(CompletionRing& queue, BareOperation& operation, std::uint64_t& failures) {
  for (;;) {
    queue.Post(reinterpret_cast<std::uint64_t>(&operation));
    co_await std::suspend_always();
    if (operation.status != 0) ++failures;
  }
}

absl::Status PollAndResume(std::uint64_t operations) {
  CompletionRing queue;
  std::uint64_t failures = 0;
  std::array<BareOperation, kOperationsInFlight> waiting;
  std::vector<std::unique_ptr<OwnedBare>> coroutines;
  for (BareOperation& operation : waiting) {
    coroutines.push_back(std::make_unique<OwnedBare>(PostForEver(queue, operation, failures)));
    operation.waiter = coroutines.back()->handle();
    operation.waiter.resume();
  }
  std::array<CompletionRing::Entry, CompletionRing::kBatch> completions;
  for (std::uint64_t done = 0; done < operations;) {
    const std::size_t count = queue.Poll(completions);
    for (std::size_t i = 0; i < count; ++i) {
      auto& operation = *reinterpret_cast<BareOperation*>(completions[i].name);
      operation.status = completions[i].status;
      operation.waiter.resume();
    }
    done += count;
    benchmark::ClobberMemory();
  }
  return failures == 0 ? absl::OkStatus() : absl::InternalError("a status got lost");
}

// ---- Q ----

absl::Status PushAndPop(std::uint64_t operations) {
  using Entry = std::pair<std::uint64_t, void*>;  // a deadline, and what to wake
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::uint64_t random = 1;
  for (std::uint64_t done = 0; done < operations; done += kManyTasks) {
    for (std::size_t i = 0; i < kManyTasks; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      queue.emplace(random >> 40, nullptr);
    }
    std::uint64_t last = 0;
    for (; !queue.empty(); queue.pop()) last = queue.top().first;
    benchmark::DoNotOptimize(last);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Case> MakeLimits() {
  return {{kLimitR, 2, Resume},
          {kLimitM, 1, CreateAndDestroy},
          {kLimitP, kOperationsInFlight, PollAndResume},
          {kLimitQ, kManyTasks, PushAndPop}};
}

}  // namespace drydock::bench
