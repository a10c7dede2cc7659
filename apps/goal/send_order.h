// Messages of one source, target and tag are received in the order in which they were sent, as in
// MPI. A NIC keeps no order between messages: one that comes before an earlier one is held here.

#ifndef DRYDOCK_APPS_GOAL_SEND_ORDER_H_
#define DRYDOCK_APPS_GOAL_SEND_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "drydock/apps/goal/schedule.h"

namespace drydock::apps::goal {

// Not thread-safe.
class SendOrder {
 public:
  using Way = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // source, target, tag

  // Of schedules of so many operations.
  explicit SendOrder(std::size_t operations) : arrived_(operations) {}

  void Sent(const Way& way, OpIndex send) { under_way_[way].push_back(send); }
  void Arrived(OpIndex send) { arrived_[send] = true; }
  // The next message of this way that may be received, if it has arrived.
  std::optional<OpIndex> Next(const Way& way) {
    const auto line = under_way_.find(way);
    if (line == under_way_.end() || !arrived_[line->second.front()]) return std::nullopt;
    const OpIndex send = line->second.front();
    line->second.pop_front();
    if (line->second.empty()) under_way_.erase(line);
    return send;
  }

 private:
  absl::flat_hash_map<Way, std::list<OpIndex>> under_way_;  // or held; in the order of the sends
  std::vector<bool> arrived_;                               // by operation
};

}  // namespace drydock::apps::goal

#endif  // DRYDOCK_APPS_GOAL_SEND_ORDER_H_
