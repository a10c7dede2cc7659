// Counters of completions, for programs that need a number and not each entry.

#ifndef DRYDOCK_FABRIC_COUNTER_H_
#define DRYDOCK_FABRIC_COUNTER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "drydock/fabric/capability.h"

namespace drydock::fabric {

// What it is: two numbers that the NIC, or its provider, raises: one per success, one per failure
// (libfabric: fid_cntr). A counter tells how many and never which. It does not replace the
// completion queue: on EFA the queue must be read all the same, or the send queue fills up and the
// queue overruns. Most EFA NICs have no counters, and libfabric counts the completions that it
// takes out of a queue, for a reader of the queue or of the counter: it misses what a queue lost,
// and what makes no completion (Capability::kRemoteCounts). Ownership: belongs to the caller that
// opened it; endpoints that were opened with it keep it working. Threads: one thread at a time,
// together with its endpoints. Blocking: never. Destruction: closes.
class Counter : public Capable {
 public:
  // Operations that ended well since the counter was opened or Set. Makes progress where the
  // provider needs the program's help.
  virtual std::uint64_t Read() = 0;
  // Operations that failed. Their error entries stay in the completion queue. Makes progress as
  // Read does.
  virtual std::uint64_t ReadErrors() = 0;

  // Makes the number of successes `value`. The number of failures keeps its value. REQUIRES: no
  // operation that the counter counts is in flight; otherwise the result is unspecified.
  // FailedPrecondition: the counter was closed. Else the provider's error; the number is as before.
  virtual absl::Status Set(std::uint64_t value) = 0;
  // The same, with the present number plus `value`.
  virtual absl::Status Add(std::uint64_t value) = 0;

  // kBusy (FailedPrecondition): an open endpoint uses it. Closing twice is harmless.
  virtual absl::Status Close() = 0;

  // See CompletionQueue::Unwrap.
  virtual Counter& Unwrap() { return *this; }
};

// Which counter an endpoint raises for which of its operations; null: none. One counter may serve
// several.
struct CounterBindings {
  Counter* sends = nullptr;
  Counter* receives = nullptr;
  Counter* writes = nullptr;
  Counter* reads = nullptr;
  // Peers' writes to our memory, and their reads of it. Without Capability::kRemoteCounts, either
  // only writes with an immediate are counted, and no reads, or the endpoint does not open
  // (kUnimplemented).
  Counter* remote_writes = nullptr;
  Counter* remote_reads = nullptr;
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_COUNTER_H_
