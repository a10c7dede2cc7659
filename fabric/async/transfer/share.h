// The load of one NIC, ours or a peer's: how much is under way, and how fast it goes.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_SHARE_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_SHARE_H_

#include <cstdint>
#include <vector>

#include "drydock/coro/time.h"

namespace drydock::fabric::async::transfer {

// The rate is that of the times in which there was work under way: of a NIC that is idle nothing is
// learned.
class Share {
 public:
  void Given(std::uint64_t bytes, coro::Time now) {
    if (under_way_ == 0) measured_since_ = now;
    under_way_ += bytes;
    total_ += bytes;
  }
  // So much has ended, of which `failed` did not arrive.
  void Ended(std::uint64_t bytes, std::uint64_t failed, coro::Time now) {
    under_way_ -= bytes;
    total_ -= failed;
    if (failed == 0) Learn(bytes, now);
  }

  // For when its side has nothing under way. The first operation waits for a connection: where no
  // more than that was measured, a NIC would be taken for slow, and get nothing that shows
  // otherwise.
  void Rest() {
    if (samples_ != 1 || rested_) return;
    rested_ = true;
    rate_ = 0;
    samples_ = measured_ = ended_ = 0;
  }

  std::uint64_t under_way() const { return under_way_; }  // bytes
  std::uint64_t total() const { return total_; }          // bytes that went, or are under way
  double rate() const { return rate_; }                   // bytes per ns; 0: not known yet

 private:
  void Learn(std::uint64_t bytes, coro::Time now) {
    measured_ += bytes;
    const auto elapsed = static_cast<double>((now - measured_since_).count());
    // The first sample comes early: a NIC that is slow must not get much before it is known.
    if ((++ended_ < kEnds && rate_ > 0) || elapsed <= 0) return;
    const double sample = static_cast<double>(measured_) / elapsed;
    rate_ = rate_ == 0 ? sample : (rate_ + sample) / 2;
    ++samples_;
    measured_ = ended_ = 0;
    measured_since_ = now;
  }

  static constexpr std::uint64_t kEnds = 4;  // that make one sample

  std::uint64_t under_way_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t measured_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t samples_ = 0;
  bool rested_ = false;
  coro::Time measured_since_{};
  double rate_ = 0;
};

// When several share work that is nearly done, the last to be done decides: a NIC that is slow gets
// no more of it than the others need to finish the rest.
class Finish {
 public:
  // Of those that may get some of it, and `left` bytes that were not handed out yet.
  Finish(const std::vector<const Share*>& shares, std::uint64_t left, std::uint64_t bytes);

  // Whether it may have `bytes` more: not if it is known to be slow, and would be the last. Always
  // true of one at least.
  bool Allows(const Share& share) const {
    const bool slow = share.rate() > 0 && kSlow * share.rate() < best_rate_;
    return !slow || Expected(share) <= limit_;
  }
  // When it would be done with them, in ns.
  double Expected(const Share& share) const {
    const double rate = share.rate() > 0 ? share.rate() : best_rate_;
    return static_cast<double>(share.under_way() + bytes_) / rate;
  }

 private:
  // How many times as fast the fastest is as one that is called slow. Less may be chance.
  static constexpr double kSlow = 2;

  const std::uint64_t bytes_;
  double best_rate_ = 0;
  double limit_ = 0;
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_SHARE_H_
