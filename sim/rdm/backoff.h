// How long a peer that has no receive left is let alone.

#ifndef DRYDOCK_SIM_RDM_BACKOFF_H_
#define DRYDOCK_SIM_RDM_BACKOFF_H_

#include <algorithm>
#include <cstdint>

#include "drydock/coro/time.h"
#include "drydock/sim/rdm/settings.h"

namespace drydock::sim::rdm {

// The provider's policy (ofiwg/libfabric prov/efa/src/rdm/efa_rdm_ep_utils.c): a packet that was
// refused twice puts its peer into back-off, first for a random short time, each further time twice
// as long, up to a cap. A packet that gets through starts it all over.
class Backoff {
 public:
  // `seed` decides the first wait: the same for the same pair of endpoints in every run.
  Backoff(const Settings& settings, std::uint64_t seed) : settings_(settings), seed_(seed) {}

  // Nothing is sent until `until()`.
  bool active() const { return active_; }
  coro::Time until() const { return until_; }

  // A packet was refused for the second time, or more often.
  void Refused(coro::Time now) {
    if (!active_) {
      wait_ = wait_ == coro::Duration(0) ? FirstWait() : std::min(2 * wait_, settings_.backoff_cap);
      active_ = true;
    }
    until_ = coro::After(now, wait_);  // a refusal during the wait begins it anew
  }

  // The time is over: packets are tried again.
  void Leave() { active_ = false; }

  // A packet got through.
  void Succeeded() { wait_ = coro::Duration(0); }

 private:
  coro::Duration FirstWait() {
    // The finaliser of SplitMix64: a different wait each time, and for each pair.
    std::uint64_t word = seed_ + ++waits_ * 0x9e3779b97f4a7c15ull;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
    word ^= word >> 31;
    const auto span = static_cast<std::uint64_t>(
        std::max<std::int64_t>(1, (settings_.backoff_most - settings_.backoff_least).count()));
    return settings_.backoff_least + coro::Duration(static_cast<std::int64_t>(word % span));
  }

  const Settings& settings_;
  std::uint64_t seed_;
  std::uint64_t waits_ = 0;
  coro::Duration wait_{};
  coro::Time until_{};
  bool active_ = false;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_BACKOFF_H_
