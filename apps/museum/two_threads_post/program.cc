// Two threads of a program that write by one endpoint.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/time.h"
#include "drydock/sim/device/observers.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"writes", 4, 1, 64, "of each thread"},
};
constexpr std::size_t kBytes = 64;
constexpr coro::Duration kPatience = std::chrono::milliseconds(10);  // of the program

// What the threads share.
struct Connection {
  Rail& rail;
  fabric::RemoteBuffer target;
  fabric::Peer peer;
  Twin twin;
  std::mutex mutex = {};
  std::promise<void> second_is_away = {};  // it is done, or waits for the first one

  // WRONG: each thread posts when it comes. REPAIRED: one thread at a time does.
  bool has_lock() const { return twin == Twin::kRepaired; }
  void Write(std::uint64_t number) {
    const std::size_t offset = kBytes * number;
    const fabric::RemoteBuffer to{.address = target.address + offset, .key = target.key};
    const auto error =
        rail.endpoint->Write(fabric::WriteRequest{.source = rail.Local(offset, kBytes),
                                                  .target = to,
                                                  .peer = peer,
                                                  .context = fabric::Context{number}});
    static_cast<void>(error);  // a write that was refused never completes
  }
};

void SecondThread(Connection& connection, std::uint64_t writes) {
  std::unique_lock lock(connection.mutex, std::defer_lock);
  bool waits = false;
  if (connection.has_lock() && !lock.try_lock()) {
    waits = true;
    connection.second_is_away.set_value();
    lock.lock();
  }
  for (std::uint64_t i = writes; i < 2 * writes; ++i) connection.Write(i);
  if (!waits) connection.second_is_away.set_value();
}

// Takes the processor from the first thread in the midst of a post, and gives it to the second one
// until that is done, or waits.
class Preemption final : public sim::Observer {
 public:
  Preemption(Trial& trial, Connection& connection)
      : observers_(trial.world().observers()),
        connection_(connection),
        writes_(trial.parameter("writes")),
        left_(coro::Below(coro::Combine(trial.seed(), 0), writes_)) {
    observers_.Add(*this);
  }
  ~Preemption() override { observers_.Remove(*this); }

  void OnPosted(const sim::QueuePair&, const fabric::efa_queue::SendWork&, const sim::Posted&,
                std::uint32_t) override {
    if (has_begun_ || left_-- > 0) return;
    has_begun_ = true;  // before there is a thread: its posts come here, too
    second_ = std::thread(&SecondThread, std::ref(connection_), writes_);
    connection_.second_is_away.get_future().wait();
  }
  // If it has begun, the second thread ends before the first one goes on.
  void Join() {
    if (second_.joinable()) second_.join();
  }

 private:
  sim::Observers& observers_;
  Connection& connection_;
  const std::uint64_t writes_;
  std::uint64_t left_;  // posts of the first thread that are not disturbed
  std::thread second_;
  bool has_begun_ = false;
};

void FirstThread(Connection& connection, Preemption& preemption, std::uint64_t writes) {
  for (std::uint64_t i = 0; i < writes; ++i) {
    {
      std::unique_lock lock(connection.mutex, std::defer_lock);
      if (connection.has_lock()) lock.lock();
      connection.Write(i);
    }
    preemption.Join();
  }
}

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  const std::uint64_t writes = trial.parameter("writes");
  Rail& rail = pair->a->rail();
  Connection connection{rail, pair->b->rail().Remote(0), pair->to_b, twin};
  Preemption preemption(trial, connection);
  FirstThread(connection, preemption, writes);
  const coro::Time deadline = coro::After(trial.clock().Now(), kPatience);
  std::uint64_t done = 0;
  while (done < 2 * writes && trial.clock().Now() < deadline) {
    while (rail.Read().has_value()) ++done;
    trial.clock().WaitUntil(deadline);
  }
  return Outcome::Of(done < 2 * writes
                         ? absl::DeadlineExceededError(absl::StrCat(done, " writes completed"))
                         : absl::OkStatus());
}

}  // namespace

const Exhibit& TwoThreadsPost() {
  static const Exhibit exhibit = {
      .name = "two-threads-post",
      .project = "ofiwg/libfabric",
      .origin = "pull request 10669",
      .kind = "threads",
      .cause = "two threads post to one endpoint at once, and no lock keeps them apart",
      .verdict = sim::explore::Verdict::kFinding,
      .check = "one-thread-at-a-time",
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
