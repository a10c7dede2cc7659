// One queue, driven by many blocks of a device at once.
//
//   Take      a block takes tickets for a batch: slots in the order of the counter
//   Fill      its threads write the entries
//   Announce  blocks ring in the order of their tickets
//   Wait      a thread that waits polls for all: the completion of a ticket goes to its slot
//
// A slot is used again when its own last entry has completed, and not before: a request id, which
// is the slot, then means one entry only. No more than max_batch entries are written and not rung
// for, by all blocks together; the lowest ticket that is not announced waits for no higher one.

#ifndef DRYDOCK_GPU_GDA_SHARED_QUEUE_H_
#define DRYDOCK_GPU_GDA_SHARED_QUEUE_H_

#include <cstdint>
#include <type_traits>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/gpu/gda/queue/device_ops.h"
#include "drydock/gpu/gda/queue/queue.h"
#include "drydock/gpu/gda/queue/transfer.h"

namespace drydock::gpu::gda {

// In memory of the device, zero at first.
struct SharedState {
  std::uint32_t tickets = 0;    // ever taken
  std::uint32_t announced = 0;  // of them, rung for
  std::uint32_t rung = 0;       // what was written to the bell
  std::uint32_t polling = 0;    // a lock
  std::uint32_t consumed = 0;   // completions; under the lock
  std::uint32_t failures = 0;
  std::uint32_t status = 0;  // EFA's, of the last failure
  std::uint32_t broken = 0;  // not 0: all threads give up
};

struct SharedView {
  QueueView queue;
  PeerView peer;
  SharedState* state = nullptr;
  std::uint32_t* laps = nullptr;  // of each slot of the send ring: entries of it that completed
};
static_assert(std::is_trivially_copyable_v<SharedView>);

// Whether the completion ring has room for everything that can be under way, as this needs.
inline bool CanBeShared(const QueueView& view) {
  return view.send_done.entry_count >= view.send.entry_count;
}

// One thread's handle. Its functions may be called by many threads of many blocks, each with a
// handle of its own. REQUIRES: CanBeShared; nothing else drives the queue.
class SharedQueue {
 public:
  DD_HOST_DEVICE explicit SharedQueue(const SharedView& view) : view_(view) {
    format_.wide = view.queue.send.entry_bytes == sizeof(fabric::efa_queue::WideWqe);
    format_.long_request_ids = view.queue.long_request_ids;
  }

  // Tickets first, first + 1, ... for `count` entries, at most max_batch, which may be filled now.
  // Whoever has tickets announces them before it takes more. False: given up.
  DD_HOST_DEVICE bool Take(std::uint32_t count, std::uint64_t timeout_ns, std::uint32_t& first) {
    first = FetchAdd(&view_.state->tickets, count);
    Patience patience(timeout_ns);
    while (first + count - LoadShared(&view_.state->announced) > view_.queue.send.max_batch) {
      if (!Help(patience)) return false;
    }
    for (std::uint32_t i = 0; i < count;) {
      if (LapsSince(first + i) == 0) {
        ++i;
      } else if (!Help(patience)) {
        return false;
      }
    }
    return true;
  }

  // Writes the entry of a ticket of ours.
  DD_HOST_DEVICE void Fill(std::uint32_t ticket, const Transfer& transfer) {
    alignas(8) unsigned char entry[sizeof(fabric::efa_queue::WideWqe)];
    const unsigned phase = (ticket & view_.queue.send.entry_count) != 0 ? 1 : 0;
    fabric::efa_queue::EncodeSend(WorkOf(transfer, view_.peer, SlotOf(ticket)), format_, phase,
                                  entry);
    stores_.Entry(static_cast<unsigned char*>(view_.queue.send.entries) +
                      std::uint64_t{SlotOf(ticket)} * format_.entry_bytes(),
                  entry, format_.entry_bytes());
  }

  // Rings for `count` tickets from `first`, which were filled by threads that this one has met at a
  // barrier since. Waits for those before. False: given up.
  DD_HOST_DEVICE bool Announce(std::uint32_t first, std::uint32_t count, std::uint64_t timeout_ns) {
    SharedState& state = *view_.state;
    const Bell& bell = view_.queue.send.bell;
    Patience patience(timeout_ns);
    while (LoadShared(&state.announced) != first) {
      if (!Help(patience)) return false;
    }
    // It is our turn, until `announced` moves on.
    while (bell.taken != nullptr && LoadShared(bell.taken) != state.rung) {
      if (!Help(patience)) return false;
    }
    state.rung = (first + count) & 0xFFFF;
    stores_.Fence();
    stores_.Bell(bell.word, state.rung);
    StoreBell(&state.announced, first + count);
    return true;
  }

  // Waits until `count` tickets from `first` have completed. False: given up.
  DD_HOST_DEVICE bool Wait(std::uint32_t first, std::uint32_t count, std::uint64_t timeout_ns) {
    Patience patience(timeout_ns);
    for (std::uint32_t i = 0; i < count;) {
      if (LapsSince(first + i) != 0) {  // or more, when the slot is another block's by now
        ++i;
      } else if (!Help(patience)) {
        return false;
      }
    }
    return true;
  }

  // Why all threads have given up; 0: none has.
  static constexpr std::uint32_t kTookTooLong = 1;
  static constexpr std::uint32_t kNonsense = 2;  // a completion that cannot be
  DD_HOST_DEVICE std::uint32_t broken() const { return LoadShared(&view_.state->broken); }
  DD_HOST_DEVICE std::uint32_t failures() const { return LoadShared(&view_.state->failures); }
  DD_HOST_DEVICE std::uint32_t status() const { return LoadShared(&view_.state->status); }

 private:
  DD_HOST_DEVICE std::uint32_t SlotOf(std::uint32_t ticket) const {
    return ticket & (view_.queue.send.entry_count - 1);
  }
  // 0: the slot is the ticket's, whose entry has not completed. Tickets, and with them laps, start
  // again at 2^32.
  DD_HOST_DEVICE std::uint32_t LapsSince(std::uint32_t ticket) const {
    const std::uint32_t entries = view_.queue.send.entry_count;
    return LoadShared(&view_.laps[SlotOf(ticket)]) * entries - (ticket & ~(entries - 1));
  }

  // Polls for all threads, if no other does. False: something is broken, or it took too long.
  DD_HOST_DEVICE bool Help(Patience& patience) {
    SharedState& state = *view_.state;
    if (LoadShared(&state.broken) != 0) return false;
    if (patience.Over()) {
      StoreBell(&state.broken, kTookTooLong);
      return false;
    }
    if (!TryLock(&state.polling)) return true;
    const bool sound = Poll();
    Unlock(&state.polling);
    return sound;
  }

  DD_HOST_DEVICE bool Poll() {
    using namespace fabric::efa_queue;  // NOLINT(build/namespaces)
    SharedState& state = *view_.state;
    const DoneRing& ring = view_.queue.send_done;
    for (;;) {
      const std::uint32_t slot = state.consumed & (ring.entry_count - 1);
      const unsigned phase = (state.consumed & ring.entry_count) == 0 ? 1 : 0;
      Completion done;
      const Malformed why = DecodeCompletion(
          static_cast<const unsigned char*>(ring.entries) + std::uint64_t{slot} * ring.entry_bytes,
          ring.entry_bytes == 32 ? CqeSize::k32 : CqeSize::k16, phase, done);
      if (why == Malformed::kWrongPhase) return true;
      ++state.consumed;
      if (why != Malformed::kNone || done.request_id >= view_.queue.send.entry_count) {
        StoreBell(&state.broken, kNonsense);
        return false;
      }
      if (done.status != CompletionStatus::kOk) {
        StoreBell(&state.status, static_cast<std::uint32_t>(done.status));
        StoreBell(&state.failures, state.failures + 1);
      }
      std::uint32_t* const laps = &view_.laps[done.request_id];
      StoreBell(laps, *laps + 1);
    }
  }

  SharedView view_;
  fabric::efa_queue::SendFormat format_;
  DirectStores stores_;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_SHARED_QUEUE_H_
