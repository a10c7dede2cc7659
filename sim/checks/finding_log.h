// Where the checks put what they found: one entry a broken rule and place, however often.

#ifndef SIM_CHECKS_FINDING_LOG_H_
#define SIM_CHECKS_FINDING_LOG_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "coro/time.h"
#include "sim/checks/finding.h"

namespace sim {

// A view of the list of one world. `clock` tells the time since that world began.
class FindingLog {
 public:
  explicit FindingLog(std::vector<Finding>& findings) : findings_(findings) {}
  FindingLog(const FindingLog&) = delete;
  FindingLog& operator=(const FindingLog&) = delete;

  void set_clock(std::function<coro::Duration()> clock) { clock_ = std::move(clock); }
  coro::Duration Now() const { return clock_ ? clock_() : coro::Duration(); }

  // Counts it where this rule was broken at this place before; otherwise adds it with `sentence()`.
  template <typename Sentence>
  void Add(Check check, const std::string& where, std::uint32_t queue, Sentence sentence) {
    for (Finding& known : findings_) {
      if (known.check != check || known.where != where || known.queue != queue) continue;
      ++known.times;
      return;
    }
    findings_.push_back({check, Now(), where, queue, sentence()});
  }

 private:
  std::vector<Finding>& findings_;
  std::function<coro::Duration()> clock_;
};

}  // namespace sim

#endif  // SIM_CHECKS_FINDING_LOG_H_
