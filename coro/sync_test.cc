// Event, Semaphore, Mutex and Channel: what they let through, in which order, and what a waiter
// that gives up or is cancelled leaves to the others.

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/channel.h"
#include "drydock/coro/event.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/mutex.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/semaphore.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/virtual_clock.h"
#include "drydock/coro/when_all.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::coro {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::ElementsAre;

class SyncTest : public ::testing::Test {
 protected:
  // Runs `main`, a coroutine lambda, to its end.
  template <typename Main>
  void Run(const Main& main) {
    EXPECT_THAT(loop_.Run(main()), IsOk());
  }

  VirtualClock clock_;
  EventLoop loop_{clock_};
  std::string notes_;
};

TEST_F(SyncTest, EventWakesEverybodyAndStaysSet) {
  Event event;
  auto waiter = [&](char name) -> Task<absl::Status> {
    const bool happened = co_await event.Wait();
    EXPECT_TRUE(happened);
    notes_ += name;
    co_return absl::OkStatus();
  };
  Run([&]() -> Task<> {
    Scope scope;
    scope.Spawn(waiter('a'));
    scope.Spawn(waiter('b'));
    co_await Yield();
    EXPECT_EQ(notes_, "");
    event.Set();
    const absl::Status joined1 = co_await scope.Join();
    EXPECT_THAT(joined1, IsOk());
    scope.Spawn(waiter('c'));
    EXPECT_EQ(notes_, "abc") << "who comes later does not wait";
    event.Reset();
    const bool late = co_await event.Wait(loop_.Now() + 1ms);
    EXPECT_FALSE(late);
  });
}

TEST_F(SyncTest, EventThatIsResetAtOnceWasStillSeen) {
  Event event;
  auto waiter = [&]() -> Task<bool> { co_return co_await event.Wait(); };
  auto setter = [&]() -> Task<bool> {
    event.Set();
    event.Reset();
    co_return true;
  };
  Run([&]() -> Task<> {
    auto [seen, set] = co_await WhenAll(waiter(), setter());
    EXPECT_TRUE(seen);
    EXPECT_TRUE(set);
  });
}

// A waiter that an event has woken and that dies before it runs leaves nothing to one that came
// after the event was reset.
TEST_F(SyncTest, EventOfADestroyedWaiterIsNotForTheNext) {
  Event event;
  auto waiter = [&](Time deadline) -> Task<absl::Status> {
    const bool happened = co_await event.Wait(deadline);
    EXPECT_FALSE(happened);
    EXPECT_EQ(loop_.Now(), deadline);
    co_return absl::OkStatus();
  };
  Run([&]() -> Task<> {
    auto woken = std::make_unique<Scope>();
    woken->Spawn(waiter(kNever));
    event.Set();
    event.Reset();
    Scope scope;
    scope.Spawn(waiter(loop_.Now() + 1ms));
    woken.reset();
    const absl::Status joined = co_await scope.Join();
    EXPECT_THAT(joined, IsOk());
  });
}

TEST_F(SyncTest, SemaphoreServesInOrderAndNobodyOvertakes) {
  Semaphore semaphore(1);
  auto worker = [&](char name) -> Task<absl::Status> {
    const bool taken = co_await semaphore.Acquire();
    EXPECT_TRUE(taken);
    notes_ += name;
    co_await Sleep(1ms);
    semaphore.Release();
    // At once again: the waiters come first.
    const bool again = co_await semaphore.Acquire();
    EXPECT_TRUE(again);
    notes_ += static_cast<char>(name - 'a' + 'A');
    semaphore.Release();
    co_return absl::OkStatus();
  };
  Run([&]() -> Task<> {
    Scope scope;
    for (const char name : {'a', 'b', 'c'}) scope.Spawn(worker(name));
    EXPECT_EQ(semaphore.available(), 0u);
    EXPECT_FALSE(semaphore.TryAcquire());
    const absl::Status joined2 = co_await scope.Join();
    EXPECT_THAT(joined2, IsOk());
  });
  EXPECT_EQ(notes_, "abcABC");
  EXPECT_EQ(semaphore.available(), 1u);
  EXPECT_TRUE(semaphore.TryAcquire());
}

TEST_F(SyncTest, SemaphoreGivesUpInTimeAndTakesNothing) {
  Semaphore semaphore(0);
  Run([&]() -> Task<> {
    const Time start = loop_.Now();
    const bool taken = co_await semaphore.Acquire(start + 3ms);
    EXPECT_FALSE(taken);
    EXPECT_EQ(loop_.Now(), start + 3ms);
  });
  semaphore.Release();
  EXPECT_EQ(semaphore.available(), 1u);
}

// A permit that was promised to a waiter which never hears of it goes to the next one.
TEST_F(SyncTest, PermitOfADestroyedWaiterIsNotLost) {
  Semaphore semaphore(0);
  auto waiter = [&](char name) -> Task<absl::Status> {
    const bool taken = co_await semaphore.Acquire();
    EXPECT_TRUE(taken);
    notes_ += name;
    co_return absl::OkStatus();
  };
  Run([&]() -> Task<> {
    auto doomed = std::make_unique<Scope>();
    doomed->Spawn(waiter('x'));
    Scope scope;
    scope.Spawn(waiter('a'));
    semaphore.Release();  // promised to x
    doomed.reset();
    const absl::Status joined3 = co_await scope.Join();
    EXPECT_THAT(joined3, IsOk());
  });
  EXPECT_EQ(notes_, "a");
  EXPECT_EQ(semaphore.available(), 0u);
}

TEST_F(SyncTest, MutexExcludesAcrossSuspensions) {
  Mutex mutex;
  auto critical = [&](char name) -> Task<absl::Status> {
    Mutex::Guard guard = co_await mutex.Lock();
    notes_ += name;
    co_await Sleep(1ms);
    notes_ += name;
    co_return absl::OkStatus();
  };
  Run([&]() -> Task<> {
    Scope scope;
    for (const char name : {'a', 'b', 'c'}) scope.Spawn(critical(name));
    EXPECT_TRUE(mutex.locked());
    const absl::Status joined4 = co_await scope.Join();
    EXPECT_THAT(joined4, IsOk());
  });
  EXPECT_EQ(notes_, "aabbcc");
  EXPECT_FALSE(mutex.locked());
}

TEST_F(SyncTest, MutexIsFreedWithADestroyedHolder) {
  Mutex mutex;
  auto holder = [&]() -> Task<absl::Status> {
    const Mutex::Guard guard = co_await mutex.Lock();
    co_await Sleep(1h);
    co_return absl::OkStatus();
  };
  Run([&]() -> Task<> {
    {
      Scope scope;
      scope.Spawn(holder());
      EXPECT_TRUE(mutex.locked());
    }
    EXPECT_FALSE(mutex.locked());
    co_await Yield();
  });
}

// A run that is stuck destroys its tasks when the loop does not run any more.
TEST_F(SyncTest, GuardOfAStuckTaskMayNotifyAnother) {
  Mutex mutex;
  auto main = [&]() -> Task<> {
    Scope scope;
    auto holder = [&]() -> Task<absl::Status> {
      const Mutex::Guard guard = co_await mutex.Lock();
      WaitList never;
      co_await never.Wait();
      co_return absl::OkStatus();
    };
    auto waiter = [&]() -> Task<absl::Status> {
      const Mutex::Guard guard = co_await mutex.Lock();
      co_return absl::OkStatus();
    };
    scope.Spawn(holder());
    scope.Spawn(waiter());
    const absl::Status joined = co_await scope.Join();
    ADD_FAILURE() << "nobody frees the mutex, and the scope ended: " << joined;
  };
  EXPECT_THAT(loop_.Run(main()), StatusIs(absl::StatusCode::kAborted));
  EXPECT_FALSE(mutex.locked());
}

TEST_F(SyncTest, ChannelKeepsOrderAndHoldsSendersBack) {
  Channel<int> channel(2);
  std::vector<int> received;
  std::size_t most = 0;
  auto sender = [&]() -> Task<absl::Status> {
    for (int i = 0; i < 10; ++i) {
      const bool sent = co_await channel.Send(i);
      EXPECT_TRUE(sent);
      most = std::max(most, channel.size());
    }
    channel.Close();
    co_return absl::OkStatus();
  };
  Run([&]() -> Task<> {
    Scope scope;
    scope.Spawn(sender());
    for (;;) {
      const std::optional<int> value = co_await channel.Receive();
      if (!value.has_value()) break;
      received.push_back(*value);
      co_await Yield();
    }
    const absl::Status joined5 = co_await scope.Join();
    EXPECT_THAT(joined5, IsOk());
  });
  EXPECT_THAT(received, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(most, 2u);
}

TEST_F(SyncTest, ClosedChannelTakesNothingAndGivesWhatItHas) {
  Channel<std::unique_ptr<int>> channel(4);
  Run([&]() -> Task<> {
    const bool sent = co_await channel.Send(std::make_unique<int>(5));
    EXPECT_TRUE(sent);
    channel.Close();
    const bool refused = co_await channel.Send(std::make_unique<int>(6));
    EXPECT_FALSE(refused);
    const auto value = co_await channel.Receive();
    EXPECT_TRUE(value.has_value());
    if (value.has_value()) {
      EXPECT_EQ(**value, 5);
    }
    const auto end = co_await channel.Receive();
    EXPECT_FALSE(end.has_value());
  });
}

TEST_F(SyncTest, ClosingWakesSendersAndReceivers) {
  Channel<int> full(1);
  Channel<int> empty(1);
  auto send = [&]() -> Task<bool> { co_return co_await full.Send(2); };
  auto receive = [&]() -> Task<bool> {
    const std::optional<int> value = co_await empty.Receive();
    co_return value.has_value();
  };
  auto close = [&]() -> Task<bool> {
    full.Close();
    empty.Close();
    co_return true;
  };
  Run([&]() -> Task<> {
    const bool first = co_await full.Send(1);
    EXPECT_TRUE(first);
    auto [sent, received, closed] = co_await WhenAll(send(), receive(), close());
    EXPECT_FALSE(sent);
    EXPECT_FALSE(received);
    EXPECT_TRUE(closed);
  });
}

TEST_F(SyncTest, ValueOfADestroyedReceiverGoesToTheNext) {
  Channel<int> channel(1);
  auto receiver = [&](char name) -> Task<absl::Status> {
    const std::optional<int> value = co_await channel.Receive();
    EXPECT_EQ(value, 7);
    notes_ += name;
    co_return absl::OkStatus();
  };
  Run([&]() -> Task<> {
    auto doomed = std::make_unique<Scope>();
    doomed->Spawn(receiver('x'));
    Scope scope;
    scope.Spawn(receiver('a'));
    const bool told = co_await channel.Send(7);  // x is told
    EXPECT_TRUE(told);
    doomed.reset();
    const absl::Status joined6 = co_await scope.Join();
    EXPECT_THAT(joined6, IsOk());
  });
  EXPECT_EQ(notes_, "a");
}

}  // namespace
}  // namespace drydock::coro
