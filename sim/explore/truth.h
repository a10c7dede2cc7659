// What a program of coroutines must not be wrong about, kept beside it, where no fault reaches.

#ifndef DRYDOCK_SIM_EXPLORE_TRUTH_H_
#define DRYDOCK_SIM_EXPLORE_TRUTH_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "drydock/sim/explore/scenario.h"

namespace drydock::sim::explore {

class Truth {
 public:
  // Data that the program was about to use is wrong.
  void Wrong(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }
  const std::string& wrong() const { return wrong_; }  // the first; empty: nothing was

  // Of a program that has ended so.
  Outcome OutcomeOf(const absl::Status& status) const {
    return wrong_.empty() ? Outcome::Of(status) : Outcome::WrongData(wrong_);
  }

 private:
  std::string wrong_;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_TRUTH_H_
