// The queue in which the NIC reports finished operations.

#ifndef DRYDOCK_FABRIC_COMPLETION_QUEUE_H_
#define DRYDOCK_FABRIC_COMPLETION_QUEUE_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/capability.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric {

struct CompletionQueueOptions {
  // Entries. 0: the provider's default. The NIC does not protect the queue: where more completions
  // are outstanding than it has entries, some are lost. Enough is the sum of the send and receive
  // depths of all endpoints bound to it, plus the unsolicited immediates that peers may have in
  // flight.
  std::size_t depth = 0;
  // Opens with the power BlockingWait. Costs an event per completion; without it, a queue is only
  // polled.
  bool blocking_wait = false;
  // Completions of received messages name their sender (Completion::source), at the cost of a
  // look-up each. Needs Capability::kSourceAddress: kUnimplemented without. False: a backend
  // without that cost may name it anyway.
  bool source_addresses = false;
};

// The result of one Read.
struct ReadResult {
  std::size_t count = 0;             // entries filled
  ErrorCode error = ErrorCode::kOk;  // kOverrun: entries were lost; others: the queue failed
};

// What it is: a queue of finite depth that many endpoints may share, filled by the NIC, emptied by
// the program. Ownership: the queue belongs to the caller that opened it; endpoints that were
// opened on it keep it working. Threads: one thread at a time. Blocking: never, except through
// BlockingWait. Destruction: closes; if endpoints still use it, it lives on until the last of them
// is gone.
class CompletionQueue : public Capable {
 public:
  // Takes up to entries.size() completions, in no particular order, failed ones included. A Read
  // also makes progress on providers that need the program's help, and frees slots of the send
  // queue: a program that does not read cannot post. An empty span does nothing.
  virtual ReadResult Read(std::span<Completion> entries) = 0;

  // The provider's words for a failed completion of this queue, for a person to read. Call it
  // before the next Read.
  virtual std::string ErrorText(const Completion& completion) = 0;

  // Entries that the queue holds.
  virtual std::size_t depth() const = 0;

  // kBusy (FailedPrecondition): an open endpoint uses it. Closing twice is harmless.
  virtual absl::Status Close() = 0;

  // The backend's own object: a wrapper returns what it wraps. For Domain::OpenEndpoint.
  virtual CompletionQueue& Unwrap() { return *this; }
};

// Power of a CompletionQueue: a thread sleeps until there is something to read.
class BlockingWait {
 public:
  static constexpr PowerId kPower{"BlockingWait"};
  virtual ~BlockingWait() = default;

  // Returns when a Read may find something, or at `deadline` on the machine's monotonic clock
  // (coro::SteadyClock; kNever: no limit), or early for no reason. Uses no CPU while it waits.
  virtual void Wait(coro::Time deadline) = 0;
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_COMPLETION_QUEUE_H_
