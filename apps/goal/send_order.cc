#include "drydock/apps/goal/send_order.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace drydock::apps::goal {

SendOrder::SendOrder(const Schedule& schedule)
    : line_of_(schedule.ops().size(), kAlone), arrived_(schedule.ops().size()) {
  const auto way = [&schedule](OpIndex send) {
    return std::tuple(schedule.ops()[send].peer, schedule.ops()[send].tag);
  };
  std::vector<OpIndex> sends;  // of a rank, those of one target and tag beside each other
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    const auto [begin, end] = schedule.OpsOf(rank);
    sends.clear();
    for (OpIndex op = begin; op < end; ++op) {
      if (schedule.ops()[op].kind == Kind::kSend) sends.push_back(op);
    }
    std::ranges::sort(sends, {}, way);
    for (std::size_t i = 1; i < sends.size(); ++i) {
      if (way(sends[i]) != way(sends[i - 1])) continue;
      if (line_of_[sends[i - 1]] == kAlone) {
        line_of_[sends[i - 1]] = static_cast<std::uint32_t>(lines_.size());
        lines_.emplace_back();
      }
      line_of_[sends[i]] = line_of_[sends[i - 1]];
    }
  }
}

}  // namespace drydock::apps::goal
