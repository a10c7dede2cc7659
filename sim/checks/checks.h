// The checks of one world: on by default in virtual time, told by the devices and drivers, and
// silent about programs that do nothing wrong. The code that runs a program reads `findings` at the
// end, and fails when there are some.
//
//   Observers ─┬─► MemoryChecks     requests, and the memory that they name
//              ├─► EndpointChecks   what a program posts, is refused, and reads
//              ├─► QueueChecks      what waits in completion queues
//              ├─► Leaks
//              └─► Checks           owns them and their findings; the rules that need several

#ifndef DRYDOCK_SIM_CHECKS_CHECKS_H_
#define DRYDOCK_SIM_CHECKS_CHECKS_H_

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "drydock/sim/checks/endpoint_checks.h"
#include "drydock/sim/checks/endpoint_watch.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/checks/finding_log.h"
#include "drydock/sim/checks/leaks.h"
#include "drydock/sim/checks/memory_checks.h"
#include "drydock/sim/checks/progress.h"
#include "drydock/sim/checks/queue_checks.h"
#include "drydock/sim/checks/wait_graph.h"
#include "drydock/sim/device/observer.h"
#include "drydock/sim/device/observers.h"
#include "drydock/sim/device/operation_table.h"
#include "drydock/sim/events/deferred_actions.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/memory/memory_bus.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world.
class Checks final : public Observer {
 public:
  // Its constructor's arguments outlive it. `deferred`: the actions that a fault plan has put off.
  Checks(const Timeline& timeline, const DeferredActions& deferred, OperationTable& operations,
         const MemoryBus& bus)
      : timeline_(timeline), deferred_(deferred), operations_(operations), memory_(log_, bus) {}

  // All of them listen from now on. REQUIRES: `observers` tells nothing any more when this goes.
  void AddTo(Observers& observers);
  // EndpointChecks::WatchOwners.
  void WatchOwners() { endpoints_.WatchOwners(); }

  // The program's declarations about itself, before its first post.
  ProgramRules& rules() { return rules_; }

  // In the order in which they were found. Valid until the next event of the world.
  std::span<const Finding> findings() const { return log_.findings(); }
  // The same, and forgets them: for tests that break a rule on purpose.
  std::vector<Finding> TakeFindings() { return log_.Take(); }
  // Called with each finding that is new, within the event that shows it; it must not touch the
  // world. Its count may still grow.
  void OnFinding(std::function<void(const Finding& finding)> handler) {
    log_.OnNew(std::move(handler));
  }

  // For the code that runs a program: every request that should have completed by now did.
  void CheckRequests();
  // The program is over, and has closed what it opened.
  void CheckEnd();

  // The program waits for ever.
  void Stuck();

  // Which endpoint waits for which, as far as posts and completions tell.
  WaitGraph DescribeWaits() const;
  // The program does something for ever: called once, with the graph. Without a handler both go to
  // standard error. In both cases it is a finding.
  using EndlessHandler = std::function<void(EndlessLoop loop, const WaitGraph& graph)>;
  void OnEndlessLoop(EndlessHandler handler) { endless_loop_ = std::move(handler); }

  // --- Observer ---
  void OnEndpointClosing(const QueuePair& queue_pair) override;
  void OnAgain(const NicState& nic, const QueuePair& queue_pair, const Posted& posted) override;
  void OnPolledInVain(const CompletionRing* ring) override;

 private:
  void Audit(const EndpointWatch& endpoint);
  void NeverReturns(EndlessLoop loop);

  const Timeline& timeline_;
  const DeferredActions& deferred_;
  OperationTable& operations_;
  FindingLog log_{timeline_};
  ProgramRules rules_;
  MemoryChecks memory_;
  EndpointChecks endpoints_{log_, rules_};
  QueueChecks queues_{log_};
  Leaks leaks_{log_};
  Progress progress_;
  EndlessHandler endless_loop_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_CHECKS_H_
