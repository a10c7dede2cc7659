// Which of its eligible events a rule fires on: the second half of a selector.

#ifndef DRYDOCK_FABRIC_FAULTS_RULE_SCHEDULE_H_
#define DRYDOCK_FABRIC_FAULTS_RULE_SCHEDULE_H_

#include <cstdint>

#include "drydock/coro/keyed_random.h"
#include "drydock/fabric/faults/plan.h"

namespace drydock::fabric::faults {

// The state of one rule's selector: how many eligible events it has seen, and on how many it fired.
// It draws no random numbers itself, so equal words give equal answers on every machine. A value: a
// copy answers as the original would, which is how the engine foresees. Not thread-safe.
class RuleSchedule {
 public:
  // The next eligible event; `word` is random, and belongs to this event. Returns whether the rule
  // fires.
  bool Next(const Selector& when, std::uint64_t word) {
    ++eligible_;
    if (!Picks(when, word) || (when.max.has_value() && fired_ >= *when.max)) return false;
    ++fired_;
    return true;
  }

  // The next eligible event, where the caller has decided whether the rule fires.
  bool Count(bool fires) {
    ++eligible_;
    fired_ += fires ? 1 : 0;
    return fires;
  }

  // Another rule acted on the event that this one has just fired on.
  void Yield() {
    --fired_;
    ++shadowed_;
  }

  // Events that the first half of the selector matched, those of them on which the rule fired, and
  // those on which it would have fired if an earlier rule had not acted.
  std::uint64_t eligible() const { return eligible_; }
  std::uint64_t fired() const { return fired_; }
  std::uint64_t shadowed() const { return shadowed_; }

 private:
  bool Picks(const Selector& when, std::uint64_t word) {
    if (burst_left_ > 0) {
      --burst_left_;
      return true;
    }
    if (gap_left_ > 0) {
      --gap_left_;
      return false;
    }
    if (when.sticky && fired_ + shadowed_ > 0) return true;
    if (!Begins(when, word)) return false;
    if (when.burst.has_value()) {
      burst_left_ = when.burst->length - 1;
      gap_left_ = when.burst->gap;
    }
    return true;
  }

  bool Begins(const Selector& when, std::uint64_t word) const {
    if (when.nth.has_value()) return eligible_ == *when.nth;
    if (eligible_ <= when.skip) return false;
    if (when.every.has_value() && (eligible_ - when.skip) % *when.every != 0) return false;
    // 53 bits, as a double has: 1 is then certain, and every machine agrees.
    return !when.probability.has_value() ||
           static_cast<double>(word >> 11) * 0x1p-53 < *when.probability;
  }

  std::uint64_t eligible_ = 0;
  std::uint64_t fired_ = 0;
  std::uint64_t shadowed_ = 0;
  std::uint64_t burst_left_ = 0;
  std::uint64_t gap_left_ = 0;
};

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_RULE_SCHEDULE_H_
