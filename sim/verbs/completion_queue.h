// Completion queues: entries of a simulated ring, as ibv_poll_cq and the extended functions of a
// poll tell them.

#ifndef DRYDOCK_SIM_VERBS_COMPLETION_QUEUE_H_
#define DRYDOCK_SIM_VERBS_COMPLETION_QUEUE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/one_thread.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/verbs/external_memory.h"
#include "drydock/sim/verbs/newer_abi.h"
#include "drydock/sim/verbs/objects.h"
#include "drydock/sim/verbs/telling.h"

namespace drydock::sim::verbs {

// The fields that a program reads of one completion.
struct WorkCompletion {
  std::uint64_t wr_id = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
  ibv_wc_opcode opcode = IBV_WC_SEND;
  std::uint8_t vendor_error = 0;  // the device's status
  std::uint32_t byte_len = 0;
  __be32 immediate = 0;
  unsigned flags = 0;  // ibv_wc_flags
  std::uint16_t queue_pair = 0;
  std::uint16_t source_queue_pair = 0;
  std::uint16_t source_handle = 0;  // 0xffff: unknown
  // Of a sender whose handle is unknown, in queues that were made to report it; otherwise zeros.
  Gid source_gid{};
  bool unsolicited = false;
  std::uint64_t operation = 0;  // its number in the trace
};

// Functions that a program takes out of the queue (efadv_cq_from_ibv_cq_ex).
struct QueueFunctions : CqFunctions {
  ibv_cq_ex* queue = nullptr;
};

class Queue : public ibv_cq_ex {
 public:
  // REQUIRES: the context's mutex is held. All members require it unless they say otherwise.
  // `parent`: the domain that it was created with, or null. `efa_flags`: the wc_flags of
  // efadv_cq_init_attr. `memory`: the ring's memory, where that is the program's.
  Queue(Context& owner, std::shared_ptr<CompletionRing> ring, const ibv_cq_init_attr_ex& attr,
        Domain* parent, std::uint64_t efa_flags, ExternalMemory memory = {});
  ~Queue();
  // Does what the destructor does, for a queue that another thread may still be using: its memory
  // is kept until the process ends.
  void LeaveToItsReader();

  Context& owner() const { return owner_; }
  const std::shared_ptr<CompletionRing>& ring() const { return ring_; }
  QueueFunctions& functions() { return functions_; }

  // The next completion of a queue pair that still exists; false when there is none.
  bool Take(WorkCompletion& completion);
  // The end of a poll that took something, for the trace.
  void TellPolled();
  bool has_told() const { return !told_.empty(); }
  // --- For a program that reads the ring itself (mapped_queues.cc): it writes its position, and
  // whether it wants an event, to a doorbell, which the host's thread polls.
  struct Mapping {
    std::byte* entries;
    std::uint32_t* doorbell;  // null: the device has none for this queue
  };
  Mapping MapRing();

  // Before a queue pair goes: its completions are dropped, those of the others kept.
  void Forget(std::uint16_t queue_pair);
  // Nothing looks at its doorbell any more, and its parent domain is free of it.
  void LetGo();
  // Whether the program has left completions unread: some are still in the queue, or Forget dropped
  // one that was not a flushed request's.
  bool has_unread() const;
  // Whether the program has promised that one thread at a time uses it.
  bool of_one_thread() const {
    return single_ || (parent_ != nullptr && parent_->thread != nullptr);
  }

  // A program's own poll, from the first entry to its end: one at a time. No mutex is needed.
  void BeginPoll() {
    if (!poller_.Enter()) TellTwoThreads(*this);
    polling_.lock();
    poller_.Enter();
  }
  void EndPoll() {
    poller_.Leave();
    polling_.unlock();
  }
  // To be called when a poll found nothing. After 64 such polls in a row (in virtual time, at once)
  // the thread yields its CPU, because the peer that it waits for may need it. REQUIRES: between
  // BeginPoll and EndPoll.
  void FoundNothing();
  void FoundSomething() { in_vain_ = 0; }
  // The entry that the read functions tell about.
  WorkCompletion current;

  Opened opened;
  std::uint32_t events_told = 0;  // that the program has read, or can read; see Unacknowledged
  bool closing = false;           // no event is told any more

 private:
  // The next entry of a queue pair that still exists.
  bool TakeFromRing(fabric::efa_queue::Completion& entry);
  // Translates the entry for the program, and frees the request's slots.
  void Tell(const fabric::efa_queue::Completion& entry, WorkCompletion& completion);
  // Takes the doorbell's value; returns whether there was one.
  bool TakeDoorbell();

  Context& owner_;
  Domain* parent_;
  const bool single_;            // IBV_CREATE_CQ_ATTR_SINGLE_THREADED
  const ExternalMemory memory_;  // dies after the ring
  const std::shared_ptr<CompletionRing> ring_;
  const bool with_source_;
  QueueFunctions functions_{};
  std::mutex polling_;
  OneThread poller_;
  std::uint32_t in_vain_ = 0;                       // polls in a row that found nothing
  std::deque<fabric::efa_queue::Completion> kept_;  // taken from the ring ahead of time
  bool dropped_ = false;           // something that would have been news to the program
  std::vector<Trace::Read> told_;  // of this poll
  std::uint32_t doorbell_ = 0;     // where the program writes
  std::uint32_t taken_ = 0;        // the value that was taken last
  int watch_ = 0;                  // the host's number for it; 0: not mapped
};

inline Queue& QueueOf(ibv_cq_ex* queue) { return *static_cast<Queue*>(queue); }
// The interface has two structures for a queue, of which the longer one begins like the other.
inline Queue& QueueOf(ibv_cq* queue) { return QueueOf(reinterpret_cast<ibv_cq_ex*>(queue)); }

// The functions that a context carries: results and errors as in ibv_create_cq_ex(3),
// ibv_poll_cq(3), ibv_req_notify_cq(3).
ibv_cq_ex* CreateExtendedQueue(ibv_context* context, ibv_cq_init_attr_ex* attr);
int PollQueue(ibv_cq* queue, int count, ibv_wc* entries);
int RequestEvent(ibv_cq* queue, int solicited_only);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_COMPLETION_QUEUE_H_
