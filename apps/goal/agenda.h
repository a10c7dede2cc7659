// What the CPUs of all ranks do next, in order.

#ifndef DRYDOCK_APPS_GOAL_AGENDA_H_
#define DRYDOCK_APPS_GOAL_AGENDA_H_

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "drydock/apps/goal/schedule.h"
#include "drydock/coro/time.h"

namespace drydock::apps::goal {

enum class Moment : std::uint8_t { kBegins, kEnds };

struct Due {
  coro::Time at{};
  OpIndex op = 0;  // of those of one moment the first one of the schedule is first
  Moment moment{};

  auto operator<=>(const Due&) const = default;
};

// Not thread-safe. A CPU does one thing after the other, so that its list nearly always grows at
// its end; the heap that finds the first of all has about one entry a CPU, and stays in the
// processor's cache where millions of operations wait.
class Agenda {
 public:
  explicit Agenda(std::size_t cpus) : lists_(cpus) {}

  // REQUIRES: cpu is below the number of CPUs; this due is not here already.
  void Push(std::uint32_t cpu, const Due& due) {
    std::deque<Due>& list = lists_[cpu];
    if (list.empty() || list.back() < due) {
      list.push_back(due);
    } else {
      list.insert(std::upper_bound(list.begin(), list.end(), due), due);
    }
    if (list.front() == due) firsts_.push({due, cpu});
  }

  bool empty() const { return firsts_.empty(); }
  // REQUIRES: not empty.
  const Due& first() const { return firsts_.top().first; }

  // REQUIRES: not empty.
  Due Pop() {
    const auto [due, cpu] = firsts_.top();
    firsts_.pop();
    lists_[cpu].pop_front();
    if (!lists_[cpu].empty()) firsts_.push({lists_[cpu].front(), cpu});
    // Those that something earlier was pushed in front of.
    while (!firsts_.empty() && !IsFirstOfItsCpu(firsts_.top())) firsts_.pop();
    return due;
  }

 private:
  using First = std::pair<Due, std::uint32_t>;  // of this CPU

  bool IsFirstOfItsCpu(const First& first) const {
    const std::deque<Due>& list = lists_[first.second];
    return !list.empty() && list.front() == first.first;
  }

  std::vector<std::deque<Due>> lists_;  // by CPU, rising
  std::priority_queue<First, std::vector<First>, std::greater<>> firsts_;
};

}  // namespace drydock::apps::goal

#endif  // DRYDOCK_APPS_GOAL_AGENDA_H_
