// Two ends as a way to write, driven by one thread or by two.

#ifndef DRYDOCK_TESTING_BENCHMARKS_PATH_OF_ENDS_H_
#define DRYDOCK_TESTING_BENCHMARKS_PATH_OF_ENDS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "drydock/coro/check.h"
#include "drydock/coro/clock.h"
#include "drydock/coro/time.h"
#include "drydock/testing/benchmarks/two_threads.h"
#include "drydock/testing/benchmarks/write_end.h"
#include "drydock/testing/benchmarks/write_loop.h"
#include "drydock/testing/benchmarks/write_path.h"

namespace drydock::bench {

// A way whose ends two threads may drive: the base class's functions, and two more ways to use
// it. The buffers hold at least BytesForTwoThreads(bytes).
class PairPath : public WritePath {
 public:
  // `count` writes with immediate, to and fro by turns, each posted when the one before it has
  // arrived. REQUIRES: an even count.
  virtual absl::Status PingPong(std::size_t bytes, std::uint64_t count) = 0;
  // `count` writes with immediate one way, `at_once` in a post, each kStreamBurst of them
  // acknowledged. REQUIRES: a multiple of kStreamBurst, which is a multiple of `at_once`.
  virtual absl::Status WriteStream(std::size_t bytes, std::size_t at_once, std::uint64_t count) = 0;
};

template <typename End>
class PathOfEnds final : public PairPath {
 public:
  // `keeps_alive`: the world of the ends, or null. `idle`: advances time after a poll that found
  // nothing, if polling alone does not; or null.
  PathOfEnds(std::string name, std::shared_ptr<void> keeps_alive, coro::Clock* idle,
             std::unique_ptr<End> initiator, std::unique_ptr<End> target)
      : name_(std::move(name)),
        keeps_alive_(std::move(keeps_alive)),
        idle_(idle),
        initiator_(std::move(initiator)),
        target_(std::move(target)) {}

  std::string name() const override { return name_; }

  absl::Status Write(const Shape& shape, std::uint64_t count) override {
    DD_CHECK(shape.window <= kMostSlots, "a window of more slots than there are names for");
    return WriteInWindows(*this, shape, count);
  }
  absl::Status PingPong(std::size_t bytes, std::uint64_t count) override {
    DD_CHECK(count % 2 == 0, "a ping without its pong");
    using Flag = std::atomic<bool>;
    return InTwoThreads(
        [&](const Flag& over) { return Bounce(*initiator_, true, bytes, count / 2, over); },
        [&](const Flag& over) { return Bounce(*target_, false, bytes, count / 2, over); });
  }
  absl::Status WriteStream(std::size_t bytes, std::size_t at_once, std::uint64_t count) override {
    DD_CHECK(count % kStreamBurst == 0, "a burst that ends early would not be acknowledged");
    DD_CHECK(at_once > 0 && kStreamBurst % at_once == 0, "a post would go past the last slot");
    using Flag = std::atomic<bool>;
    return InTwoThreads(
        [&](const Flag& over) { return Stream(*initiator_, bytes, at_once, count, over); },
        [&](const Flag& over) { return Acknowledge(*target_, bytes, count, over); });
  }

  // --- What WriteInWindows calls ---
  PostOutcome Post(std::size_t slot, std::size_t bytes) {
    const BurstOutcome outcome = initiator_->Post({.bytes = bytes, .first = slot});
    if (outcome.posted == 1) [[likely]]
      return PostOutcome::kPosted;
    return outcome.failed ? PostOutcome::kFailed : PostOutcome::kAgain;
  }
  bool PollInitiator(Found& found) {
    Found others;  // no peer writes to the initiator
    return initiator_->Poll(found, others) && others.completions == 0;
  }
  bool PollTarget(Found& found) {
    Found others;
    return target_->Poll(others, found) && others.completions == 0;
  }
  void Idle() {
    if (idle_ != nullptr) idle_->WaitUntil(coro::kNever);
  }
  absl::Status error() const {
    for (const absl::Status& status : {initiator_->error(), target_->error()}) {
      if (!status.ok()) return status;
    }
    return absl::DataLossError("a completion came to the other end");
  }

 private:
  const std::string name_;
  const std::shared_ptr<void> keeps_alive_;
  coro::Clock* const idle_;
  const std::unique_ptr<End> initiator_;
  const std::unique_ptr<End> target_;
};

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_PATH_OF_ENDS_H_
