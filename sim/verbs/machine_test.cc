// The mutex of a host where a program ends: it comes, or it never does.

#include "drydock/sim/verbs/machine.h"

#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "drydock/sim/verbs/termination.h"
#include "gtest/gtest.h"

namespace drydock::sim::verbs {
namespace {

// Under ThreadSanitizer, also that the mutex orders what both threads do.
TEST(LockSoonTest, WaitsForAThreadThatHasTheMutex) {
  std::mutex mutex;
  int writes = 0;
  std::promise<void> taken;
  std::thread holder([&] {
    const std::lock_guard held(mutex);
    taken.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // it lost its processor
    ++writes;
  });
  taken.get_future().wait();
  const TerminationDelay closes;
  std::unique_lock lock(mutex, std::defer_lock);
  EXPECT_TRUE(LockSoon(lock));
  EXPECT_TRUE(lock.owns_lock());
  if (lock.owns_lock()) {
    EXPECT_EQ(++writes, 2);
    lock.unlock();
  }
  holder.join();
}

// That of a call which a signal interrupted, whose handler ends the program: here, another
// thread's.
TEST(LockSoonTest, GivesUpAMutexThatNeverComes) {
  std::mutex mutex;
  std::promise<void> taken;
  std::promise<void> given_up;
  std::thread holder([&] {
    const std::lock_guard held(mutex);
    taken.set_value();
    given_up.get_future().wait();
  });
  taken.get_future().wait();
  const TerminationDelay interrupted;
  const TerminationDelay closes;
  std::unique_lock lock(mutex, std::defer_lock);
  EXPECT_FALSE(LockSoon(lock));
  EXPECT_FALSE(lock.owns_lock());
  given_up.set_value();
  holder.join();
}

}  // namespace
}  // namespace drydock::sim::verbs
