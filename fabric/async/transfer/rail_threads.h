// A thread and a loop for each NIC, or for each few of them.
//
//   RailThreads threads({.threads = 4, .on_start = [](std::size_t i) { PinTo(cpus[i]); }});
//   auto engine = Engine::Open(loop, nics, {.threads = &threads});
//   threads.Start();
//   ... loop.Run(...) ...
//   threads.Stop();   // before the engine dies

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_RAIL_THREADS_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_RAIL_THREADS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "drydock/coro/clock.h"
#include "drydock/coro/event_loop.h"
#include "drydock/fabric/async/transfer/rail.h"

namespace drydock::fabric::async::transfer {

struct RailThreadsOptions {
  std::size_t threads = 1;
  // The clock of each thread's loop, which no other thread waits on; outlives the threads. Empty:
  // the machine's.
  std::function<coro::Clock&(std::size_t thread)> clock;
  // Called by each thread before it works: to pin it to CPUs.
  std::function<void(std::size_t thread)> on_start;
  // A thread with nothing to do looks for work this often.
  coro::IdlePolicy idle = {.busy_poll = std::chrono::milliseconds(20)};
};

// NICs of several engines may share the threads. Not thread-safe: one thread calls.
class RailThreads {
 public:
  explicit RailThreads(RailThreadsOptions options);
  RailThreads(const RailThreads&) = delete;
  RailThreads& operator=(const RailThreads&) = delete;
  // Stops them.
  ~RailThreads();

  // The thread of NIC `index` of `count`, each with an equal share. Neighbours share a thread where
  // there are fewer threads than NICs.
  static std::size_t ThreadOf(std::size_t index, std::size_t count, std::size_t threads) {
    return index * threads / count;
  }

  // For Engine::Open: number `index` of the `count` NICs that the threads are for. REQUIRES: below
  // `count`; not started.
  void Add(Rail& rail, std::size_t index, std::size_t count);

  // REQUIRES: not started before.
  void Start();
  // Returns when no thread works any more; then the NICs are the caller's. Operations under way
  // stay under way. Harmless when the threads have not started.
  void Stop();

 private:
  void Work(std::size_t thread);

  const RailThreadsOptions options_;
  std::vector<std::vector<Rail*>> rails_;  // by thread
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_RAIL_THREADS_H_
