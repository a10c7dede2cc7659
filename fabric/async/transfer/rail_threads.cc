#include "drydock/fabric/async/transfer/rail_threads.h"

#include <utility>

#include "drydock/coro/check.h"
#include "drydock/coro/selector.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/task.h"
#include "drydock/coro/wait_list.h"

namespace drydock::fabric::async::transfer {
namespace {

// Tells a loop's task that the threads are to stop.
class StopWatch final : public coro::Selector {
 public:
  StopWatch(coro::EventLoop& loop, const std::atomic<bool>& stop) : loop_(loop), stop_(stop) {
    loop_.AddSelector(*this);
  }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;
  ~StopWatch() override { loop_.RemoveSelector(*this); }

  std::size_t Poll(std::size_t) override {
    return stop_.load(std::memory_order_acquire) && stopped_.NotifyOne() ? 1 : 0;
  }

  coro::Task<> Stopped() {
    while (!stop_.load(std::memory_order_acquire)) co_await stopped_.Wait();
  }

 private:
  coro::EventLoop& loop_;
  const std::atomic<bool>& stop_;
  coro::WaitList stopped_{"the end of a NIC's thread"};
};

}  // namespace

RailThreads::RailThreads(RailThreadsOptions options)
    : options_(std::move(options)), rails_(options_.threads) {
  DD_CHECK(options_.threads > 0, "threads for NICs are one or more");
}

RailThreads::~RailThreads() { Stop(); }

void RailThreads::Add(Rail& rail, std::size_t index, std::size_t count) {
  DD_CHECK(threads_.empty(), "a NIC comes when its threads work already");
  rails_[ThreadOf(index, count, rails_.size())].push_back(&rail);
}

void RailThreads::Start() {
  DD_CHECK(threads_.empty(), "threads of NICs are started twice");
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    threads_.emplace_back([this, i] { Work(i); });
  }
}

void RailThreads::Stop() {
  stop_.store(true, std::memory_order_release);
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void RailThreads::Work(std::size_t thread) {
  if (options_.on_start) options_.on_start(thread);
  coro::SteadyClock steady;
  coro::Clock& clock = options_.clock ? options_.clock(thread) : steady;
  coro::EventLoop loop(clock, options_.idle);
  for (Rail* const rail : rails_[thread]) rail->Attach(loop);
  StopWatch watch(loop, stop_);
  const absl::Status status = loop.Run(watch.Stopped());
  DD_CHECK(status.ok(), "a NIC's thread waits for its stop");
  for (Rail* const rail : rails_[thread]) rail->Detach();
}

}  // namespace drydock::fabric::async::transfer
