// The findings of one world's checks: one entry for each broken rule and place, however often it is
// broken.

#ifndef DRYDOCK_SIM_CHECKS_FINDING_LOG_H_
#define DRYDOCK_SIM_CHECKS_FINDING_LOG_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/events/world_clock.h"

namespace drydock::sim {

// Not thread-safe. The clock outlives it.
class FindingLog {
 public:
  explicit FindingLog(const WorldClock& clock) : clock_(clock) {}
  FindingLog(const FindingLog&) = delete;
  FindingLog& operator=(const FindingLog&) = delete;

  // Time since the world began.
  coro::Duration Now() const { return clock_.ElapsedNow(); }

  // Counts it where this rule was broken at this place before; otherwise adds it with `sentence()`.
  template <typename Sentence>
  void Add(Check check, const std::string& where, std::uint32_t queue, Sentence sentence) {
    for (Finding& known : findings_) {
      if (known.check != check || known.where != where || known.queue != queue) continue;
      ++known.times;
      return;
    }
    findings_.push_back({check, Now(), where, queue, sentence()});
    if (on_new_) on_new_(findings_.back());
  }

  // The handler is called with each new finding, where it is found; empty: there is none.
  void OnNew(std::function<void(const Finding&)> handler) { on_new_ = std::move(handler); }

  // In the order of the first time.
  std::span<const Finding> findings() const { return findings_; }
  // The same, and forgets them.
  std::vector<Finding> Take() { return std::exchange(findings_, {}); }

 private:
  const WorldClock& clock_;
  std::vector<Finding> findings_;
  std::function<void(const Finding&)> on_new_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_FINDING_LOG_H_
