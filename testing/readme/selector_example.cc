// The selector of docs/coroutines.md, which a reader can run:
// ./bazelw run //testing/readme:selector_example

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <iostream>
#include <mutex>
#include <thread>

#include "drydock/coro/event_loop.h"
#include "drydock/coro/selector.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"

namespace coro = drydock::coro;

// docs/coroutines.md shows what follows, to the end of the class; readme_test compares them.

// Numbers that other threads send to the coroutines of a loop.
class Mailbox final : public coro::Selector {
 public:
  explicit Mailbox(coro::EventLoop& loop) : loop_(loop) { loop_.AddSelector(*this); }
  ~Mailbox() override { loop_.RemoveSelector(*this); }

  void Send(int number) {  // any thread
    const std::lock_guard<std::mutex> lock(mutex_);
    numbers_.push_back(number);
    sent_.notify_one();
  }

  coro::Task<int> Receive() {  // the loop's thread, as all that follows
    while (inbox_.empty()) co_await arrived_.Wait();
    const int number = inbox_.front();
    inbox_.pop_front();
    co_return number;
  }

  std::size_t Poll(std::size_t budget) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::size_t count = std::min(budget, numbers_.size());
    for (std::size_t i = 0; i < count; ++i, numbers_.pop_front()) {
      inbox_.push_back(numbers_.front());
      arrived_.NotifyOne();
    }
    return count;
  }

  bool Wait(coro::Time deadline) override {
    const coro::Duration left = deadline - loop_.clock().Now();
    std::unique_lock<std::mutex> lock(mutex_);
    sent_.wait_for(lock, std::min<coro::Duration>(left, std::chrono::seconds(1)),
                   [this] { return !numbers_.empty(); });
    return true;
  }

 private:
  coro::EventLoop& loop_;
  std::mutex mutex_;
  std::condition_variable sent_;
  std::deque<int> numbers_;  // sent, and not seen by the loop
  std::deque<int> inbox_;    // seen, and not received
  coro::WaitList arrived_;
};

coro::Task<int> Sum(Mailbox& mailbox, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await mailbox.Receive();
  co_return sum;
}

int main() {
  coro::SteadyClock clock;
  coro::EventLoop loop(clock);
  Mailbox mailbox(loop);
  std::thread sender([&mailbox] {
    for (int number = 1; number <= 1000; ++number) mailbox.Send(number);
  });
  std::cout << loop.Run(Sum(mailbox, 1000)).value() << "\n";
  sender.join();
}
