// Programs that give up their operations in every way there is, over a NIC that completes them in
// every way there is, and coroutines that run in any order: no buffer goes while the NIC has it,
// nothing is left in the end, and the same seed does the same with every compiler.
//
// DRYDOCK_SCHEDULES seeds are run: 20,000 by default.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/selector.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/timeout.h"
#include "drydock/coro/wait_list.h"
#include "drydock/coro/when_any.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/completion_dispatcher.h"
#include "drydock/fabric/async/testing/fake_nic.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using coro::Task;
using std::chrono::nanoseconds;

// Lets the coroutines that are ready run in an order that is drawn, instead of the loop's: one that
// waits for its turn is resumed in the next turn, after or before the others.
class Shuffler final : public coro::Selector {
 public:
  Shuffler(FakeNic& nic, coro::EventLoop& loop) : nic_(nic), loop_(loop) {
    loop_.AddSelector(*this);
  }
  ~Shuffler() override { loop_.RemoveSelector(*this); }

  auto Turn() {
    ++waiting_;
    return lanes_[nic_.Draw(lanes_.size())].Wait();
  }

  std::size_t Poll(std::size_t) override {
    if (waiting_ == 0) return 0;
    const std::size_t first = nic_.Draw(lanes_.size());
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[(first + i) % lanes_.size()].NotifyAll();
    }
    return std::exchange(waiting_, 0);
  }

 private:
  FakeNic& nic_;
  coro::EventLoop& loop_;
  std::array<coro::WaitList, 3> lanes_;
  std::size_t waiting_ = 0;  // given-up ones included
};

// One program and its NIC. Members die in reverse order.
class Schedule {
 public:
  explicit Schedule(std::uint64_t seed)
      : nic_(seed),
        loop_(nic_),
        shuffler_(nic_, loop_),
        dispatcher_(loop_, nic_.OpenQueue()),
        endpoint_(dispatcher_, nic_.OpenEndpoint(), Options()) {}

  // What went wrong; empty: nothing.
  std::string Run() {
    const absl::Status status = loop_.Run(Main());
    if (!status.ok()) return status.ToString();
    if (nic_.violations() > 0) return "a buffer was freed while the NIC had it";
    if (nic_.in_flight() > 0) return "an operation is left in the NIC";
    if (dispatcher_.slots().in_flight() > 0) return "an operation is left in its slot";
    if (!loop_.timers().empty()) return "a timer is left";
    return "";
  }

  std::uint64_t trace() const { return nic_.trace(); }

 private:
  AsyncEndpointOptions Options() {
    AsyncEndpointOptions options;
    options.post_timeout = nanoseconds(50000);
    options.cancel_patience = nanoseconds(nic_.Draw(2) * 20000);
    return options;
  }

  nanoseconds Delay() { return nanoseconds(1 + nic_.Draw(4000)); }

  // Writes from a buffer of its own, which only the NIC keeps if the coroutine goes.
  Task<absl::Status> Write(bool with_deadline) {
    co_await shuffler_.Turn();
    OperationOptions options;
    if (with_deadline) options.deadline = coro::After(loop_.Now(), Delay());
    const BufferSlice source(nic_.MakeBuffer());
    const Completion done = co_await endpoint_.Write(source, RemoteBuffer{}, Peer{1}, options);
    nic_.Note(static_cast<std::uint64_t>(done.error));
    co_return absl::OkStatus();
  }

  Task<absl::Status> Sleep(nanoseconds delay) {
    co_await coro::Sleep(delay);
    nic_.Note(100);
    co_return absl::OkStatus();
  }

  Task<absl::Status> WriteTwoAndCancel() {
    coro::Scope scope;
    scope.Spawn(Write(false));
    scope.Spawn(Write(true));
    co_await coro::Sleep(Delay());
    scope.Cancel();
    const absl::Status status = co_await scope.Join();
    co_return status;
  }

  Task<absl::Status> WriteTwoAndLeave() {
    coro::Scope scope;
    scope.Spawn(Write(false));
    scope.Spawn(Write(false));
    co_await coro::Sleep(Delay());
    co_return absl::OkStatus();  // the scope destroys what still runs
  }

  Task<absl::Status> Race() {
    std::vector<Task<absl::Status>> tasks;
    tasks.push_back(Write(false));
    tasks.push_back(Sleep(Delay()));
    const std::pair<std::size_t, absl::Status> first = co_await coro::WhenAny(std::move(tasks));
    nic_.Note(200 + first.first);
    co_return absl::OkStatus();
  }

  // One of the ways to do an operation, and perhaps give it up.
  Task<absl::Status> Step() {
    switch (nic_.Draw(6)) {
      case 0:
        return Write(false);
      case 1:
        return Write(true);
      case 2:
        return coro::WithDeadline(loop_.Now() + Delay(), Write(false));
      case 3:
        return WriteTwoAndCancel();
      case 4:
        return WriteTwoAndLeave();
      default:
        return Race();
    }
  }

  Task<absl::Status> Worker() {
    const std::uint64_t steps = 1 + nic_.Draw(2);
    for (std::uint64_t i = 0; i < steps; ++i) {
      co_await shuffler_.Turn();
      const absl::Status status = co_await Step();
      nic_.Note(static_cast<std::uint64_t>(status.code()) + 300);
    }
    co_return absl::OkStatus();
  }

  Task<> Main() {
    {
      coro::Scope workers;
      const std::uint64_t count = 1 + nic_.Draw(3);
      for (std::uint64_t i = 0; i < count; ++i) workers.Spawn(Worker());
      if (nic_.Draw(8) == 0) {
        co_await coro::Sleep(Delay());
        const absl::Status closed = endpoint_.Close();  // with whatever is in flight
        nic_.Note(500 + static_cast<std::uint64_t>(closed.code()));
      }
      const absl::Status joined = co_await workers.Join();
      nic_.Note(static_cast<std::uint64_t>(joined.code()) + 400);
    }
    // Orphans come home: everything that was left behind completes, none later than 100 us.
    for (int i = 0; i < 1000 && dispatcher_.slots().in_flight() > 0; ++i) {
      co_await coro::Sleep(nanoseconds(1000));
    }
    nic_.Note(dispatcher_.counters().late);
    // The endpoint's own timer, which posts again what was refused, has nothing to do any more.
    co_await coro::Sleep(std::chrono::milliseconds(2));
  }

  FakeNic nic_;
  coro::EventLoop loop_;
  Shuffler shuffler_;
  CompletionDispatcher dispatcher_;
  AsyncEndpoint endpoint_;
};

std::uint64_t Seeds() {
  const char* const text = std::getenv("DRYDOCK_SCHEDULES");
  return text == nullptr ? 20000 : std::strtoull(text, nullptr, 10);
}

TEST(SchedulesTest, NoScheduleTouchesFreedMemoryOrLeavesAnything) {
  // The traces of so many seeds: the same with both compilers, optimised or not, with sanitizers or
  // without.
  const std::map<std::uint64_t, std::uint64_t> golden = {{10'000, 10536946078846221728u},
                                                         {1'000'000, 4270461432658280782u}};
  std::uint64_t trace = 0;
  for (std::uint64_t seed = 1; seed <= Seeds(); ++seed) {
    Schedule schedule(seed);
    const std::string wrong = schedule.Run();
    ASSERT_EQ(wrong, "") << "seed " << seed;
    trace = coro::Combine(trace, schedule.trace());
    const auto known = golden.find(seed);
    if (known == golden.end()) continue;
    EXPECT_EQ(trace, known->second) << "after " << seed << " seeds";
  }
  EXPECT_GE(Seeds(), golden.begin()->first) << "too few to be held against anything";
}

TEST(SchedulesTest, SameSeedSameTrace) {
  Schedule first(7);
  Schedule second(7);
  Schedule other(8);
  EXPECT_EQ(first.Run() + second.Run() + other.Run(), "");
  EXPECT_EQ(first.trace(), second.trace());
  EXPECT_NE(first.trace(), other.trace());
}

}  // namespace
}  // namespace drydock::fabric::async
