// The checks of one world: on by default, told by the devices, and silent about programs that do
// nothing wrong. Whoever runs a program reads `findings` at the end, and fails when there are some.

#ifndef SIM_CHECKS_CHECKS_H_
#define SIM_CHECKS_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coro/time.h"
#include "sim/checks/finding.h"
#include "sim/checks/memory_checks.h"

namespace sim {

// Not thread-safe: belongs to its world. A program that does nothing wrong never allocates here.
class Checks {
 public:
  // A completion found its queue full. `where` names the NIC, `queue` is its number there, `depth`
  // its entries.
  void CompletionLost(const std::string& where, std::uint32_t queue, std::size_t depth,
                      coro::Duration now);

  // A queue pair was posted to `times` times in a row, was full each time, and nobody read its
  // completion queue meanwhile.
  void AgainWithoutReading(const std::string& where, std::uint32_t queue_pair, std::uint64_t times,
                           coro::Duration now);

  // Those about requests and the memory that they name.
  MemoryChecks& memory() { return memory_; }

  // In the order in which they were found. Valid until the next event of the world.
  std::span<const Finding> findings() const { return findings_; }
  // The same, and forgets them: for tests that break a rule on purpose.
  std::vector<Finding> TakeFindings() { return std::exchange(findings_, {}); }

 private:
  // Counts it where this rule was broken at this place before; false: this is the first time.
  bool Counts(Check check, const std::string& where, std::uint32_t queue);

  std::vector<Finding> findings_;
  MemoryChecks memory_{findings_};
};

}  // namespace sim

#endif  // SIM_CHECKS_CHECKS_H_
