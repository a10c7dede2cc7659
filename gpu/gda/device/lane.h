// One queue of a port: tickets, doorbells, completions.
//
//   Take      n tickets, whose slots are free          back-pressure: polls and rings meanwhile
//   Fill      any thread writes the entry of a ticket
//   HandOver  in the order of the tickets; rings now, or leaves it to a later one
//   Poll      completions free slots, whichever thread polls
//
//   Lane<kExclusive>  one thread, warp or block has the queue to itself: counts in registers
//   Lane<kShared>     any threads of the device: counts in its memory, atomic
//
// What it leans on, of EFA:
//   completions come in any order       a slot is free when its own last entry has completed, so
//                                       that a request id, which is the slot, is one entry's only
//   doorbells carry the running count   they are rung in the order of the tickets
//   entries are staged on the NIC       no more than max_batch are written and not rung for, by all
//                                       threads together
//   a completion ring has no guard      it is as long as the send ring at least
//   queue numbers are used again        request ids carry the epoch: a completion of the last
//                                       connection frees nothing
//
// No deadlock: a thread that waits for a slot, its turn or a completion polls, and rings for what
// others handed over without ringing. The lowest ticket that is not handed over never waits for a
// higher one.

#ifndef DRYDOCK_GPU_GDA_DEVICE_LANE_H_
#define DRYDOCK_GPU_GDA_DEVICE_LANE_H_

#include <cstdint>
#include <type_traits>

#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/gpu/gda/device/lane_completions.h"
#include "drydock/gpu/gda/device/lane_counts.h"
#include "drydock/gpu/gda/device/views.h"
#include "drydock/gpu/gda/queue/device_ops.h"
#include "drydock/gpu/gda/queue/entry_writer.h"

namespace drydock::gpu::gda {

// One thread's handle; all its functions but Fill are for the leader of a scope. Exclusive: of one
// handle on the queue, from construction to Save. `Failed` is told of each failure:
// failed(status, Note).
template <Sharing kSharing>
class Lane : public LaneCompletions<kSharing> {
  using Counts = LaneCounts<kSharing>;
  using Completions = LaneCompletions<kSharing>;

 public:
  using Counts::Break;
  using Counts::broken;
  using Counts::entries;
  using Counts::kShared;

  // `view` outlives it.
  DD_HOST_DEVICE Lane(const LaneView& view, std::uint32_t epoch)
      : Completions(view, epoch), entries_(view.queue) {}

  // Takes `count` tickets from `first` on, and waits until they may be filled. REQUIRES: count is
  // at most largest_batch().
  template <typename Failed>
  DD_HOST_DEVICE DD_HOT Outcome Take(std::uint32_t count, std::uint64_t timeout_ns,
                                     const Failed& failed, std::uint32_t& first) {
    if (const Outcome why = broken(); why != Outcome::kOk) return why;
    first = Claim(count);
    if (MayFillAtOnce(first, count)) return Outcome::kOk;
    return Apart([&](Lane& lane) { return lane.AwaitRoom(first, count, timeout_ns, failed); });
  }

  // Writes the entry of a ticket that was taken. Any thread of the scope.
  DD_HOST_DEVICE DD_HOT void Fill(std::uint32_t ticket, fabric::efa_queue::SendWork work,
                                  Note note) {
    work.request_id = SlotOf(ticket) | epoch_ << kEpochShift;
    view_->notes[SlotOf(ticket)] = note.Encode();
    entries_.Write(ticket, work, stores_);
  }

  // Hands `count` tickets from `first` over, which were filled by threads that this one has met at
  // a barrier since; with `ring`, the NIC has been told when it returns.
  template <typename Failed>
  DD_HOST_DEVICE DD_HOT Outcome HandOver(std::uint32_t first, std::uint32_t count, bool ring,
                                         std::uint64_t timeout_ns, const Failed& failed) {
    if constexpr (!kShared) {
      own_.turn = first + count;
      if (!ring || TryRing()) return Outcome::kOk;
    }
    return Apart(
        [&](Lane& lane) { return lane.AwaitTurn(first, count, ring, timeout_ns, failed); });
  }

  // Everything that was handed over is announced.
  template <typename Failed>
  DD_HOST_DEVICE Outcome Flush(std::uint64_t timeout_ns, const Failed& failed) {
    if (const Outcome why = broken(); why != Outcome::kOk) return why;
    const std::uint32_t end = Load(&state().turn);
    return Apart([&](Lane& lane) {
      Patience patience(timeout_ns);
      return lane.RingUpTo(end, patience, failed);
    });
  }

  // Waits until all tickets that this handle has taken have completed, well or not; exclusive: all
  // that are under way.
  template <typename Failed>
  DD_HOST_DEVICE Outcome Quiet(std::uint64_t timeout_ns, const Failed& failed) {
    if (const Outcome why = broken(); why != Outcome::kOk) return why;
    return Apart([&](Lane& lane) { return lane.AwaitAll(timeout_ns, failed); });
  }

  // Looks at completions and rings for entries that are not rung for, once. kOk: go on waiting.
  template <typename Failed>
  DD_HOST_DEVICE Outcome Help(Patience& patience, const Failed& failed) {
    return Apart([&](Lane& lane) { return lane.HelpOnce(patience, failed); });
  }

 private:
  using Completions::TryPoll;
  using Counts::AreFree;
  using Counts::Done;
  using Counts::epoch_;
  using Counts::IsDone;
  using Counts::kEpochShift;
  using Counts::Load;
  using Counts::own_;
  using Counts::SlotOf;
  using Counts::state;
  using Counts::Store;
  using Counts::view_;

  DD_HOST_DEVICE std::uint32_t Claim(std::uint32_t count) {
    if constexpr (kShared) {
      const std::uint32_t first = FetchAdd(&state().tickets, count);
      if (begin_ == end_) begin_ = first;
      end_ = first + count;
      return first;
    } else {
      const std::uint32_t first = own_.tickets;
      own_.tickets += count;
      return first;
    }
  }

  // Whether tickets may be filled, as far as counts alone say. Never so many are written and not
  // announced as to overrun what the NIC stages.
  DD_HOST_DEVICE DD_HOT bool MayFillAtOnce(std::uint32_t first, std::uint32_t count) {
    if (Load(&state().completed) != first) return false;
    if constexpr (!kShared) own_.oldest = first;
    return first + count - Load(&state().rung) <= view_->queue.send.max_batch;
  }
  DD_HOST_DEVICE bool MayFill(std::uint32_t first, std::uint32_t count) {
    if (MayFillAtOnce(first, count)) return true;
    if (first + count - Load(&state().rung) > view_->queue.send.max_batch) return false;
    if constexpr (kShared) {
      return AreFree(first, count);
    } else {
      // Each ticket is looked at once.
      while (first + count - own_.oldest > entries()) {
        if (!IsDone(own_.oldest)) return false;
        ++own_.oldest;
      }
      return true;
    }
  }

  // Work that waits is done on a copy: the counts of a handle whose address is never taken stay in
  // registers.
  template <typename Work>
  DD_HOST_DEVICE Outcome Apart(const Work& work) {
    if constexpr (kShared) {
      return work(*this);
    } else {
      Lane copy = *this;
      const Outcome outcome = work(copy);
      *this = copy;
      return outcome;
    }
  }

  template <typename Failed>
  DD_HOST_DEVICE GDA_APART Outcome AwaitRoom(std::uint32_t first, std::uint32_t count,
                                             std::uint64_t timeout_ns, const Failed& failed) {
    Patience patience(timeout_ns);
    while (!MayFill(first, count)) {
      const Outcome helped = HelpOnce(patience, failed);
      if (helped != Outcome::kOk) return helped;
    }
    return Outcome::kOk;
  }
  // The part of HandOver that may wait.
  template <typename Failed>
  DD_HOST_DEVICE GDA_APART Outcome AwaitTurn(std::uint32_t first, std::uint32_t count, bool ring,
                                             std::uint64_t timeout_ns, const Failed& failed) {
    Patience patience(timeout_ns);
    if constexpr (kShared) {
      while (LoadWord32(&state().turn) != first) {
        const Outcome helped = HelpOnce(patience, failed);
        if (helped != Outcome::kOk) return helped;
      }
      SystemFence();  // another thread may ring for these
      StoreFencedWord(&state().turn, first + count);
    }
    return ring ? RingUpTo(first + count, patience, failed) : Outcome::kOk;
  }

  template <typename Failed>
  DD_HOST_DEVICE GDA_APART Outcome AwaitAll(std::uint64_t timeout_ns, const Failed& failed) {
    Patience patience(timeout_ns);
    if constexpr (kShared) {
      // Those before have completed: their slots were taken again.
      if (end_ - begin_ > entries()) begin_ = end_ - entries();
      for (;;) {
        begin_ += Done(begin_, end_ - begin_);
        if (begin_ == end_) return Outcome::kOk;
        const Outcome helped = HelpOnce(patience, failed);
        if (helped != Outcome::kOk) return helped;
      }
    } else {
      while (own_.completed != own_.tickets) {
        const Outcome helped = HelpOnce(patience, failed);
        if (helped != Outcome::kOk) return helped;
      }
      return Outcome::kOk;
    }
  }

  template <typename Failed>
  DD_HOST_DEVICE GDA_APART Outcome HelpOnce(Patience& patience, const Failed& failed) {
    if (const Outcome why = broken(); why != Outcome::kOk) return why;
    if (patience.Over()) return Break(Outcome::kTimedOut);
    if (Load(&state().rung) != Load(&state().turn)) TryRing();
    return TryPoll(failed) ? Outcome::kOk : Break(Outcome::kBroken);
  }

  template <typename Failed>
  DD_HOST_DEVICE Outcome RingUpTo(std::uint32_t end, Patience& patience, const Failed& failed) {
    for (;;) {
      // By signed difference: another thread may have rung for more.
      if (static_cast<std::int32_t>(Load(&state().rung) - end) >= 0) return Outcome::kOk;
      if (TryRing()) continue;
      const Outcome helped = HelpOnce(patience, failed);
      if (helped != Outcome::kOk) return helped;
    }
  }

  // Rings for everything that was handed over. False: the last doorbell was not taken yet, or
  // another thread is ringing.
  DD_HOST_DEVICE DD_HOT bool TryRing() {
    if constexpr (kShared) {
      if (!TryLockOnDevice(&state().ringing)) return false;
    }
    const std::uint32_t end = Load(&state().turn);
    const std::uint32_t rung = Load(&state().rung);
    const bool free = BellIsFree(rung);
    if (free && end != rung) {
      const Bell& bell = view_->queue.send.bell;
      // The entries, and what they are to send, before the doorbell.
      stores_.Fence();
      stores_.Bell(bell.word, end & 0xFFFF);
      Store(&state().rung, end);
    }
    if constexpr (kShared) UnlockOnDevice(&state().ringing);
    return free;
  }
  // A completion of everything announced says so without a look at the NIC's word.
  DD_HOST_DEVICE bool BellIsFree(std::uint32_t rung) const {
    const std::uint32_t* const taken = view_->queue.send.bell.taken;
    return taken == nullptr || Load(&state().completed) == rung ||
           LoadShared(taken) == (rung & 0xFFFF);
  }

  EntryWriter<DirectStores> entries_;
  DirectStores stores_;
  std::uint32_t begin_ = 0;  // shared only: tickets of this handle, not waited for yet
  std::uint32_t end_ = 0;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_LANE_H_
