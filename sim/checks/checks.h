// The checks of one world: on by default, told by the devices, and silent about programs that do
// nothing wrong. Whoever runs a program reads `findings` at the end, and fails when there are some.

#ifndef SIM_CHECKS_CHECKS_H_
#define SIM_CHECKS_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coro/time.h"
#include "fabric/context_owner.h"
#include "sim/checks/endpoint_watch.h"
#include "sim/checks/finding.h"
#include "sim/checks/immediate_namespace.h"
#include "sim/checks/memory_checks.h"
#include "sim/checks/progress.h"
#include "sim/checks/queue_service.h"
#include "sim/memory_bus.h"

namespace sim {

// Not thread-safe: belongs to its world. A program that does nothing wrong never allocates here.
class Checks final : private fabric::ContextWatcher {
 public:
  // `clock`: the world's time, which began at `start`. Clock and bus outlive the checks.
  Checks(const coro::Time& clock, coro::Time start, const MemoryBus& bus)
      : clock_(&clock), start_(start), memory_(findings_, bus) {}

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
  // A completion found older ones that the program leaves alone: see QueueService.
  void QueueNotServed(const std::string& where, std::uint32_t queue, coro::Duration now);

  // The program polls, and nothing can ever come: see Progress. `summary`: of the wait graph.
  void PollsInVain(coro::Duration now, const std::string& summary);
  Progress& progress() { return progress_; }

  // A loop waits, and nothing is under way that could wake it.
  void Stuck(coro::Duration now);

  // Whether a context in flight names one operation, as fabric/endpoint.h has it, and may be used
  // for another one only after its completion was read. On, unless a program says that its
  // contexts are tags of what many operations have in common: then neither kContextOwnership nor a
  // second post of an accepted operation is told from what such a program does all the time.
  void set_contexts_are_names(bool names) { contexts_are_names_ = names; }
  bool contexts_are_names() const { return contexts_are_names_; }

  // Off unless it is switched on here, before the first write: a program that counts immediates is
  // right to use one for several writes.
  void RequireDistinctImmediates() { immediates_.set_on(true); }
  const ImmediateNamespace& immediates() const { return immediates_; }

  // An endpoint was opened; its driver tells it everything, until Forget.
  EndpointWatch* Watch(WatchedEndpoint endpoint);
  void Forget(EndpointWatch* endpoint);
  // In the order of their opening.
  const std::vector<std::unique_ptr<EndpointWatch>>& endpoints() const { return endpoints_; }

  // A rule was broken. `what()` makes the sentence, and is called the first time at this place.
  template <typename What>
  void Found(Check check, const std::string& where, std::uint32_t queue, coro::Duration now,
             What what) {
    if (!Counts(check, where, queue)) findings_.push_back({check, now, where, queue, what()});
  }

  // In the order in which they were found. Valid until the next event of the world.
  std::span<const Finding> findings() const { return findings_; }
  // The same, and forgets them: for tests that break a rule on purpose.
  std::vector<Finding> TakeFindings() { return std::exchange(findings_, {}); }

 private:
  // Counts it where this rule was broken at this place before; false: this is the first time.
  bool Counts(Check check, const std::string& where, std::uint32_t queue);

  // --- fabric::ContextWatcher ---
  void OnOwnerGone(fabric::Context context) override;

  const coro::Time* const clock_;
  const coro::Time start_;
  std::vector<Finding> findings_;
  MemoryChecks memory_;
  std::vector<std::unique_ptr<EndpointWatch>> endpoints_;
  ImmediateNamespace immediates_;
  Progress progress_;
  bool contexts_are_names_ = true;
};

}  // namespace sim

#endif  // SIM_CHECKS_CHECKS_H_
