// Tells the program how its requests ended.

#ifndef SIM_RDM_REPORTER_H_
#define SIM_RDM_REPORTER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "fabric/operation.h"
#include "sim/rdm/alarm.h"
#include "sim/rdm/completion_sink.h"
#include "sim/rdm/outcome.h"

namespace sim::rdm {

// Counts the program's sends, writes, reads and atomics, from their acceptance to their end, and
// writes each end into the right queue, once: of a request without a context, failures only.
// Not thread-safe. The sinks and the alarm outlive it.
class Reporter {
 public:
  Reporter(std::uint64_t owner, CompletionSink& sends, CompletionSink& receives, Alarm& alarm,
           std::size_t most_operations)
      : owner_(owner),
        sends_(sends),
        receives_(receives),
        alarm_(alarm),
        most_operations_(most_operations) {}

  bool full() const { return operations_ >= most_operations_; }
  std::size_t operations() const { return operations_; }
  // A request was accepted. REQUIRES: not full().
  void Accepted() { ++operations_; }

  // It has ended.
  void Ended(fabric::OperationKind kind, std::optional<fabric::Context> context,
             const Outcome& outcome) {
    --operations_;
    Write(sends_, {.context = context,
                   .kind = kind,
                   .error = outcome.error,
                   .provider_error = outcome.provider_error});
  }

  // A receive has ended.
  void Received(const fabric::Completion& completion) { Write(receives_, completion); }

  // A peer wrote to our memory and said so: there is no context to look at.
  void RemotelyWritten(const fabric::Completion& completion) {
    receives_.Push(owner_, completion);
    alarm_.WakeAt(alarm_.Now());
  }

 private:
  void Write(CompletionSink& sink, const fabric::Completion& completion) {
    if (!completion.context.has_value() && completion.ok()) return;
    sink.Push(owner_, completion);
    // A post may end a request at once: whoever sleeps then must look again.
    alarm_.WakeAt(alarm_.Now());
  }

  const std::uint64_t owner_;
  CompletionSink& sends_;
  CompletionSink& receives_;
  Alarm& alarm_;
  const std::size_t most_operations_;
  std::size_t operations_ = 0;
};

}  // namespace sim::rdm

#endif  // SIM_RDM_REPORTER_H_
