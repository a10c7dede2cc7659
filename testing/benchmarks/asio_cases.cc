#include "drydock/testing/benchmarks/asio_cases.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "asio/awaitable.hpp"
#include "asio/bind_cancellation_slot.hpp"
#include "asio/cancellation_signal.hpp"
#include "asio/co_spawn.hpp"
#include "asio/error.hpp"
#include "asio/error_code.hpp"
#include "asio/experimental/awaitable_operators.hpp"
#include "asio/io_context.hpp"
#include "asio/post.hpp"
#include "asio/steady_timer.hpp"
#include "asio/system_error.hpp"
#include "asio/this_coro.hpp"
#include "asio/use_awaitable.hpp"
#include "benchmark/benchmark.h"
#include "drydock/coro/status_macros.h"
#include "drydock/testing/benchmarks/asio_ring.h"
#include "drydock/testing/benchmarks/coro_limits.h"

namespace drydock::bench {
namespace {

using asio::awaitable;
using asio::use_awaitable;
using std::chrono::microseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// What asio is told: one thread runs this context.
constexpr int kOneThread = 1;

// Collects how coroutines ended that were spawned on a context.
class Ended {
 public:
  auto Handler() {
    return [this](std::exception_ptr failure) {
      ++count_;
      if (failure) ++failures_;
    };
  }

  // Fails unless that many ended, none by an exception.
  absl::Status Expect(std::uint64_t count) const {
    if (count_ == count && failures_ == 0) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat(count_, " of ", count, " coroutines ended, ", failures_, " by an exception"));
  }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t failures_ = 0;
};

// Runs one coroutine to its end, and whatever it leaves behind.
absl::Status Run(asio::io_context& context, awaitable<void> task) {
  Ended ended;
  asio::co_spawn(context, std::move(task), ended.Handler());
  context.restart();
  context.run();
  return ended.Expect(1);
}

// ---- Tasks ----

[[gnu::noinline]] awaitable<int> Immediate(int value) { co_return value; }

awaitable<void> AwaitMany(std::uint64_t operations) {
  int sum = 0;
  for (std::uint64_t i = 0; i < operations; ++i) {
    const int value = co_await Immediate(1);
    sum += value;
  }
  benchmark::DoNotOptimize(sum);
}

absl::Status RunTasks(std::uint64_t operations) {
  asio::io_context context(kOneThread);
  return Run(context, AwaitMany(operations));
}

// ---- Switches ----

awaitable<void> PostMany(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) co_await asio::post(use_awaitable);
}

absl::Status RunSwitches(std::uint64_t operations) {
  asio::io_context context(kOneThread);
  Ended ended;
  asio::co_spawn(context, PostMany(operations / 2), ended.Handler());
  asio::co_spawn(context, PostMany(operations / 2), ended.Handler());
  context.run();
  return ended.Expect(2);
}

awaitable<void> NoteTurns(char name, std::string& turns) {
  for (int i = 0; i < 4; ++i) {
    turns.push_back(name);
    co_await asio::post(use_awaitable);
  }
}

absl::Status VerifySwitches() {
  asio::io_context context(kOneThread);
  Ended ended;
  std::string turns;
  asio::co_spawn(context, NoteTurns('a', turns), ended.Handler());
  asio::co_spawn(context, NoteTurns('b', turns), ended.Handler());
  context.run();
  RETURN_IF_ERROR(ended.Expect(2));
  if (turns == "abababab") return absl::OkStatus();
  return absl::InternalError(absl::StrCat("posts do not alternate: ", turns));
}

// ---- Operations ----

// A context with a ring on it.
struct Polled {
  asio::io_context context{kOneThread};
  AsioRing ring{context};
};

// A timer, and what it cancels. `number` says which operation: a timer that fired just before it
// was cancelled must not hit the next one.
struct Deadline {
  explicit Deadline(asio::io_context& context) : timer(context) {}

  asio::steady_timer timer;
  asio::cancellation_signal signal;
  std::uint64_t number = 0;
};

awaitable<std::uint32_t> PostBefore(AsioRing& ring, Deadline& deadline, steady_clock::duration in) {
  const std::uint64_t number = ++deadline.number;
  deadline.timer.expires_after(in);
  deadline.timer.async_wait([&deadline, number](asio::error_code error) {
    if (!error && deadline.number == number) {
      deadline.signal.emit(asio::cancellation_type::terminal);
    }
  });
  const std::uint32_t status =
      co_await ring.AsyncPost(asio::bind_cancellation_slot(deadline.signal.slot(), use_awaitable));
  ++deadline.number;
  deadline.timer.cancel();
  co_return status;
}

awaitable<std::uint32_t> PostOrExpire(AsioRing& ring, asio::steady_timer& timer,
                                      steady_clock::duration in) {
  using asio::experimental::awaitable_operators::operator||;
  timer.expires_after(in);
  const std::variant<std::uint32_t, std::monostate> first =
      co_await (ring.AsyncPost(use_awaitable) || timer.async_wait(use_awaitable));
  co_return first.index() == 0 ? std::get<0>(first) : AsioRing::kCancelled;
}

enum class Limit { kNone, kTimer, kEither };

awaitable<void> OperateMany(AsioRing& ring, Deadline& deadline, std::uint64_t times, Limit limit,
                            std::uint64_t& failures) {
  for (std::uint64_t i = 0; i < times; ++i) {
    std::uint32_t status = 0;
    switch (limit) {
      case Limit::kNone:
        status = co_await ring.AsyncPost(use_awaitable);
        break;
      case Limit::kTimer:
        status = co_await PostBefore(ring, deadline, seconds(10));
        break;
      case Limit::kEither:
        status = co_await PostOrExpire(ring, deadline.timer, seconds(10));
        break;
    }
    if (status != 0) ++failures;
  }
}

absl::Status OperateInParallel(Polled& polled, std::uint64_t operations, Limit limit) {
  const std::uint64_t completed_before = polled.ring.completed();
  Ended ended;
  std::uint64_t failures = 0;
  std::vector<std::unique_ptr<Deadline>> deadlines;
  for (std::size_t i = 0; i < kOperationsInFlight; ++i) {
    deadlines.push_back(std::make_unique<Deadline>(polled.context));
    asio::co_spawn(polled.context,
                   OperateMany(polled.ring, *deadlines.back(), operations / kOperationsInFlight,
                               limit, failures),
                   ended.Handler());
  }
  polled.context.restart();
  polled.context.run();
  RETURN_IF_ERROR(ended.Expect(kOperationsInFlight));
  if (failures == 0 && polled.ring.completed() - completed_before == operations) {
    return absl::OkStatus();
  }
  return absl::InternalError("an operation in memory failed");
}

template <int kLayers>
awaitable<std::uint32_t> PostThrough(AsioRing& ring) {
  if constexpr (kLayers == 1) {
    const std::uint32_t status = co_await ring.AsyncPost(use_awaitable);
    co_return status;
  } else {
    const std::uint32_t status = co_await PostThrough<kLayers - 1>(ring);
    co_return status;
  }
}

template <int kLayers>
awaitable<void> PostInLayers(AsioRing& ring, std::uint64_t operations, std::uint64_t& failures) {
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::uint32_t status = co_await PostThrough<kLayers>(ring);
    if (status != 0) ++failures;
  }
}

template <int kLayers>
absl::Status RunLayers(Polled& polled, std::uint64_t operations) {
  std::uint64_t failures = 0;
  RETURN_IF_ERROR(Run(polled.context, PostInLayers<kLayers>(polled.ring, operations, failures)));
  return failures == 0 ? absl::OkStatus() : absl::InternalError("an operation in memory failed");
}

// Whatever limits an operation that does not complete in time: it ends when it is due, and its late
// completion is read and resumes no coroutine.
template <typename Task>
absl::Status VerifyExpiry(Polled& polled, steady_clock::duration in, Task task) {
  const std::uint64_t completed_before = polled.ring.completed();
  const steady_clock::time_point start = steady_clock::now();
  polled.ring.Hold(true);
  std::uint32_t status = 0;
  bool early = false;
  asio::co_spawn(polled.context, std::move(task),
                 [&](const std::exception_ptr& failure, std::uint32_t ended) {
                   status = failure ? 0 : ended;
                   early = steady_clock::now() < start + in;
                   polled.ring.Hold(false);
                 });
  polled.context.restart();
  polled.context.run();
  if (status != AsioRing::kCancelled) return absl::InternalError("an operation did not expire");
  if (early) return absl::InternalError("an operation expired before it was due");
  if (polled.ring.completed() - completed_before == 1) return absl::OkStatus();
  return absl::InternalError("a late completion got lost");
}

absl::Status VerifyDeadlines() {
  constexpr microseconds kSoon(100);
  Polled polled;
  Deadline deadline(polled.context);
  RETURN_IF_ERROR(VerifyExpiry(polled, kSoon, PostBefore(polled.ring, deadline, kSoon)));
  RETURN_IF_ERROR(VerifyExpiry(polled, kSoon, PostOrExpire(polled.ring, deadline.timer, kSoon)));
  for (const Limit limit : {Limit::kTimer, Limit::kEither}) {  // and what is in time, is
    RETURN_IF_ERROR(OperateInParallel(polled, kOperationsInFlight, limit));
  }
  return absl::OkStatus();
}

absl::Status RunEmptyTurns(Polled& polled, std::uint64_t operations) {
  polled.context.restart();
  polled.ring.TurnIdly(operations);
  return polled.context.run() == operations ? absl::OkStatus()
                                            : absl::InternalError("turns got lost");
}

// ---- Many ----

absl::Status RunGathers(std::uint64_t operations) {
  asio::io_context context(kOneThread);
  for (std::uint64_t done = 0; done < operations; done += kManyTasks) {
    Ended ended;
    for (std::size_t i = 0; i < kManyTasks; ++i) {
      asio::co_spawn(context, PostMany(1), ended.Handler());
    }
    context.restart();
    context.run();
    RETURN_IF_ERROR(ended.Expect(kManyTasks));
  }
  return absl::OkStatus();
}

// 1 to 5000 us, the same sequence each time, as for our loop.
steady_clock::duration SleepNumber(std::size_t number) {
  return microseconds(1 + number * 2654435761u % 5000);
}

awaitable<void> SleepOnce(steady_clock::time_point due) {
  asio::steady_timer timer(co_await asio::this_coro::executor, due);
  co_await timer.async_wait(use_awaitable);
}

absl::Status RunSleeps(std::uint64_t operations) {
  asio::io_context context(kOneThread);
  for (std::uint64_t done = 0; done < operations; done += kManyTasks) {
    Ended ended;
    const steady_clock::time_point start = steady_clock::now();
    for (std::size_t i = 0; i < kManyTasks; ++i) {
      asio::co_spawn(context, SleepOnce(start + SleepNumber(i)), ended.Handler());
    }
    context.restart();
    context.run();
    RETURN_IF_ERROR(ended.Expect(kManyTasks));
  }
  return absl::OkStatus();
}

awaitable<void> NoteWaking(steady_clock::time_point due, std::uint64_t& wrong,
                           steady_clock::time_point& last) {
  co_await SleepOnce(due);
  if (steady_clock::now() < due || due < last) ++wrong;
  last = due;
}

absl::Status VerifySleeps() {
  constexpr std::size_t kSleepers = 100;
  asio::io_context context(kOneThread);
  Ended ended;
  std::uint64_t wrong = 0;
  steady_clock::time_point last{};
  const steady_clock::time_point start = steady_clock::now();
  for (std::size_t i = 0; i < kSleepers; ++i) {
    asio::co_spawn(context, NoteWaking(start + SleepNumber(i), wrong, last), ended.Handler());
  }
  context.run();
  RETURN_IF_ERROR(ended.Expect(kSleepers));
  if (wrong == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(wrong, " of ", kSleepers, " sleeps ended early or late"));
}

// ---- Errors ----

template <int kLayers>
awaitable<absl::Status> FailThrough() {
  if constexpr (kLayers == 1) {
    co_return absl::UnavailableError("peer is gone");
  } else {
    CO_RETURN_IF_ERROR(co_await FailThrough<kLayers - 1>());
    co_return absl::OkStatus();
  }
}

awaitable<void> FailMany(std::uint64_t operations, std::uint64_t& seen) {
  for (std::uint64_t i = 0; i < operations; ++i) {
    const absl::Status status = co_await FailThrough<5>();
    if (absl::IsUnavailable(status)) ++seen;
  }
}

template <int kLayers>
awaitable<void> ThrowThrough() {
  if constexpr (kLayers == 1) {
    throw asio::system_error(asio::error::connection_reset);
    co_return;
  } else {
    co_await ThrowThrough<kLayers - 1>();
  }
}

awaitable<void> ThrowMany(std::uint64_t operations, std::uint64_t& seen) {
  for (std::uint64_t i = 0; i < operations; ++i) {
    try {
      co_await ThrowThrough<5>();
    } catch (const asio::system_error& error) {
      if (error.code() == asio::error::connection_reset) ++seen;
    }
  }
}

using Failing = awaitable<void>(std::uint64_t operations, std::uint64_t& seen);

absl::Status RunErrors(Failing* fail, std::uint64_t operations) {
  asio::io_context context(kOneThread);
  std::uint64_t seen = 0;
  RETURN_IF_ERROR(Run(context, fail(operations, seen)));
  return seen == operations ? absl::OkStatus() : absl::InternalError("an error got lost");
}

}  // namespace

std::vector<Case> MakeAsioCases() {
  const auto polled = std::make_shared<Polled>();
  const auto parallel = [polled](Limit limit) {
    return [polled, limit](std::uint64_t n) { return OperateInParallel(*polled, n, limit); };
  };
  return {
      {kAsioTask, 1, RunTasks},
      {kAsioSwitch, 2, RunSwitches},
      {kAsioCompletion, kOperationsInFlight, parallel(Limit::kNone)},
      {kAsioDeadline, kOperationsInFlight, parallel(Limit::kTimer)},
      {kAsioEither, kOperationsInFlight, parallel(Limit::kEither)},
      {kAsioOneLayer, 1, [polled](std::uint64_t n) { return RunLayers<1>(*polled, n); }},
      {kAsioFiveLayers, 1, [polled](std::uint64_t n) { return RunLayers<5>(*polled, n); }},
      {kAsioGather, kManyTasks, RunGathers},
      {kAsioSleeps, kManyTasks, RunSleeps},
      {kAsioEmptyTurn, 1, [polled](std::uint64_t n) { return RunEmptyTurns(*polled, n); }},
      {kAsioValue, 1, [](std::uint64_t n) { return RunErrors(FailMany, n); }},
      {kAsioException, 1, [](std::uint64_t n) { return RunErrors(ThrowMany, n); }},
  };
}

absl::Status VerifyAsioCases() {
  RETURN_IF_ERROR(VerifySwitches());
  RETURN_IF_ERROR(VerifyDeadlines());
  return VerifySleeps();
}

}  // namespace drydock::bench
