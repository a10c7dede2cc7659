// Tells the program how its requests ended.

#ifndef DRYDOCK_SIM_RDM_REPORTER_H_
#define DRYDOCK_SIM_RDM_REPORTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "drydock/fabric/operation.h"
#include "drydock/sim/rdm/alarm.h"
#include "drydock/sim/rdm/completion_sink.h"
#include "drydock/sim/rdm/counters.h"
#include "drydock/sim/rdm/outcome.h"

namespace drydock::sim::rdm {

// Counts the program's sends, writes, reads and atomics, from their acceptance until a queue is
// read after their end, and writes each end into the right queue, once: of a request without a
// context, failures only. Raises the counters. Not thread-safe. The sinks and the alarm outlive it.
class Reporter {
 public:
  Reporter(std::uint64_t owner, CompletionSink& sends, CompletionSink& receives, Alarm& alarm,
           std::size_t most_operations, Counters counters)
      : owner_(owner),
        sends_(sends),
        receives_(receives),
        alarm_(alarm),
        most_operations_(most_operations),
        counters_(std::move(counters)) {}

  bool full() const { return operations_ >= most_operations_; }
  // A request was accepted. REQUIRES: not full().
  void Accepted() { ++operations_; }

  // It has ended. An atomic counts as a write, or, where it fetches, as a read.
  void Ended(fabric::OperationKind kind, std::optional<fabric::Context> context,
             const Outcome& outcome, bool fetches = false) {
    ++ended_;
    Count(CounterOf(kind, fetches), outcome.ok());
    Write(sends_, {.context = context,
                   .kind = kind,
                   .error = outcome.error,
                   .provider_error = outcome.provider_error});
  }

  // A receive has ended.
  void Received(const fabric::Completion& completion) {
    Count(counters_.receives, completion.ok());
    Write(receives_, completion);
  }

  // A queue is read: those that have ended give up their slots.
  void FreeSlots() { operations_ -= std::exchange(ended_, 0); }

  const Counters& counters() const { return counters_; }

  // From here on nothing is reported: the sinks may go.
  void Detach() { detached_ = true; }

  // A peer wrote to our memory and said so: there is no context to look at.
  void RemotelyWritten(const fabric::Completion& completion) {
    if (detached_) return;
    Count(counters_.remote_writes, completion.ok());
    receives_.Push(owner_, completion);
    alarm_.WakeAt(alarm_.Now());
  }

 private:
  void Write(CompletionSink& sink, const fabric::Completion& completion) {
    if (detached_ || (!completion.context.has_value() && completion.ok())) return;
    sink.Push(owner_, completion);
    // A post may end a request at once: a program that sleeps then must look again.
    alarm_.WakeAt(alarm_.Now());
  }

  const std::shared_ptr<CounterCore>& CounterOf(fabric::OperationKind kind, bool fetches) const {
    switch (kind) {
      case fabric::OperationKind::kWrite:
        return counters_.writes;
      case fabric::OperationKind::kRead:
        return counters_.reads;
      case fabric::OperationKind::kAtomic:
        return fetches ? counters_.reads : counters_.writes;
      default:
        return counters_.sends;
    }
  }

  const std::uint64_t owner_;
  CompletionSink& sends_;
  CompletionSink& receives_;
  Alarm& alarm_;
  const std::size_t most_operations_;
  const Counters counters_;
  std::size_t operations_ = 0;
  bool detached_ = false;
  std::size_t ended_ = 0;  // of these, since a queue was last read
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_REPORTER_H_
