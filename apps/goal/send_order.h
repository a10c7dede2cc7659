// Messages of one source, target and tag are received in the order in which they were sent, as in
// MPI. A NIC keeps no order between messages: one that comes before an earlier one is held here.

#ifndef DRYDOCK_APPS_GOAL_SEND_ORDER_H_
#define DRYDOCK_APPS_GOAL_SEND_ORDER_H_

#include <cstdint>
#include <list>
#include <vector>

#include "absl/status/status.h"
#include "drydock/apps/goal/schedule.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps::goal {

// A message that is the only one of its source, target and tag, as most are, costs a look. Not
// thread-safe.
class SendOrder {
 public:
  explicit SendOrder(const Schedule& schedule);

  // This operation sends its message now.
  void Sent(OpIndex send) {
    if (line_of_[send] != kAlone) lines_[line_of_[send]].push_back(send);
  }
  // Its message has arrived. Calls receive(send) for each one that may be received now, the earliest
  // first, until that fails. REQUIRES: it was sent.
  template <typename Receive>
  absl::Status Arrived(OpIndex send, Receive receive) {
    if (line_of_[send] == kAlone) return receive(send);
    Line& line = lines_[line_of_[send]];
    arrived_[send] = true;
    while (!line.empty() && arrived_[line.front()]) {
      const OpIndex first = line.front();
      line.pop_front();
      RETURN_IF_ERROR(receive(first));
    }
    return absl::OkStatus();
  }

 private:
  static constexpr std::uint32_t kAlone = UINT32_MAX;

  using Line = std::list<OpIndex>;  // under way or held; in the order of the sends

  std::vector<std::uint32_t> line_of_;  // by operation: a place in lines_, or kAlone
  std::vector<Line> lines_;
  std::vector<bool> arrived_;  // by operation; not of those that are alone
};

}  // namespace drydock::apps::goal

#endif  // DRYDOCK_APPS_GOAL_SEND_ORDER_H_
