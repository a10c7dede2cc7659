// Freezes one NIC, one endpoint or the completions of one NIC for a while, as rr's chaos mode does
// with threads (rr-debugger/rr src/Scheduler.cc): in the field, one part is slow, and for long.
// Otherwise a walk.
//
// The length of a window is drawn so that every power of two is as likely, from a microsecond to
// two seconds: longer than a program's own time-outs.

#ifndef DRYDOCK_SIM_EXPLORE_STRATEGY_STARVE_H_
#define DRYDOCK_SIM_EXPLORE_STRATEGY_STARVE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drydock/sim/events/scheduler.h"
#include "drydock/sim/random.h"

namespace drydock::sim::explore {

class StarveScheduler final : public Scheduler {
 public:
  explicit StarveScheduler(std::uint64_t seed) : draws_(seed, Subsystem::kScheduler, 0, 0) {}

  std::size_t Pick(std::span<const Step> ready, coro::Duration now) override;
  coro::Duration resumes() const override { return until_; }
  bool explains_errors() const override { return long_; }

 private:
  enum class Victim : std::uint8_t { kNic, kEndpoint, kCompletions };

  void BeginWindow(std::span<const Step> ready, coro::Duration now);
  bool IsFrozen(const Step& step) const;

  RandomStream draws_;
  Victim victim_ = Victim::kNic;
  std::uint32_t nic_ = 0;
  std::uint16_t queue_pair_ = 0;   // of an endpoint
  coro::Duration until_{};         // since the world began; in the past: nothing is frozen
  bool long_ = false;              // some window was
  std::vector<std::size_t> free_;  // of `ready`
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_STRATEGY_STARVE_H_
