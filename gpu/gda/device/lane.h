// One queue of a port: tickets, doorbells, completions.
//
//   Take      n tickets, whose slots are free          back-pressure: polls and rings meanwhile
//   Fill      any thread writes the entry of a ticket
//   HandOver  in the order of the tickets; rings now, or leaves it to a later one
//   Poll      completions free slots, whoever asked for them
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
// No deadlock: whoever waits for a slot, its turn or a completion polls, and rings for what others
// handed over without ringing. The lowest ticket that is not handed over never waits for a higher
// one.

#ifndef GPU_GDA_DEVICE_LANE_H_
#define GPU_GDA_DEVICE_LANE_H_

#include <cstdint>
#include <type_traits>

#include "fabric/efa_queue/cqe.h"
#include "fabric/efa_queue/wqe.h"
#include "gpu/gda/device/views.h"
#include "gpu/gda/device_ops.h"
#include "gpu/gda/done_ring.h"
#include "gpu/gda/entry_writer.h"

namespace gpu::gda {

enum class Sharing : std::uint8_t { kExclusive, kShared };

// What an entry is, for errors: of one slot.
struct Note {
  PortOperation operation = PortOperation::kNone;
  std::uint32_t peer = 0;  // below 65536

  DD_HOST_DEVICE std::uint32_t Encode() const {
    return static_cast<std::uint32_t>(operation) << 16 | (peer & 0xFFFF);
  }
  DD_HOST_DEVICE static Note Decode(std::uint32_t note) {
    return {static_cast<PortOperation>(note >> 16), note & 0xFFFF};
  }
};

// One thread's handle; all its functions but Fill are for the leader of a scope. Exclusive: of one
// handle on the queue, from construction to Save. `Failed` is told of each failure:
// failed(status, Note).
template <Sharing kSharing>
class Lane {
 public:
  static constexpr bool kShared = kSharing == Sharing::kShared;

  // `view` outlives it.
  DD_HOST_DEVICE Lane(const LaneView& view, std::uint32_t epoch)
      : view_(&view), entries_(view.queue), epoch_(epoch) {
    if constexpr (!kShared) {
      own_ = *view.state;
    }
  }
  // What the next kernel has to know. Nothing when shared.
  DD_HOST_DEVICE void Save() const {
    if constexpr (!kShared) *view_->state = own_;
  }

  DD_HOST_DEVICE std::uint32_t entries() const { return view_->queue.send.entry_count; }
  // Tickets that may be taken at once.
  DD_HOST_DEVICE std::uint32_t largest_batch() const {
    const std::uint32_t batch = view_->queue.send.max_batch;
    return batch < entries() ? batch : entries();
  }

  // Takes `count` tickets from `first` on, and waits until they may be filled. REQUIRES: count is
  // at most largest_batch().
  template <typename Failed>
  DD_HOST_DEVICE DD_HOT Outcome Take(std::uint32_t count, std::uint64_t timeout_ns,
                                     const Failed& failed, std::uint32_t& first) {
    if (const std::uint32_t broken = Load(&state().broken); broken != 0) {
      return static_cast<Outcome>(broken);
    }
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
    const std::uint32_t end = Load(&state().turn);
    return Apart([&](Lane& lane) {
      Patience patience(timeout_ns);
      return lane.RingUpTo(end, patience, failed);
    });
  }

  // Exclusive: whether everything that was taken has completed well, seen by all threads of the
  // scope, of which each looks at one completion, and takes it. False: not for a while, or not
  // well, or there is too much of it; nothing has happened then.
  template <typename Scope>
  DD_HOST_DEVICE DD_HOT bool HasEndedAtOnce(Scope& scope) {
#if defined(__CUDA_ARCH__)
    constexpr int kLooks = 64;
#else
    constexpr int kLooks = 1;  // a vote of the host's threads takes long
#endif
    const std::uint32_t turn = scope.Broadcast(own_.turn);
    const std::uint32_t n = turn - scope.Broadcast(own_.completed);
    const std::uint32_t consumed = scope.Broadcast(own_.consumed) + scope.rank();
    const std::uint32_t oldest = scope.Broadcast(own_.oldest);
    if (n > scope.size() || scope.Broadcast(own_.rung) != turn) return false;
    if (n == 0) return true;
    const unsigned char* const entry = EntryAhead(consumed);
    const unsigned phase = PhaseOf(consumed);
    for (int look = 0; look < kLooks; ++look) {
      const std::uint32_t word = scope.rank() < n ? LoadAhead(entry) : 0;
      const auto one = fabric::efa_queue::ReadSendSuccess(word, phase);
      const std::uint32_t ticket = TicketOf(word & 0xFFFF, turn);
      const bool ours = (word & 0xFFFF) >> kEpochShift == epoch_ && turn - ticket <= turn - oldest;
      if (!scope.All(scope.rank() >= n || (one.is_one && ours))) continue;
      if (one.brought_bytes) AcquireLoaded();
      if (scope.rank() < n) StoreFencedWord(&view_->laps[SlotOf(ticket)], ticket / entries() + 1);
      if (scope.rank() == 0) {
        own_.consumed += n;
        own_.completed += n;
      }
      return true;
    }
    return false;
  }

  // Waits until all tickets that this handle has taken have completed, well or not; exclusive: all
  // that are under way.
  template <typename Failed>
  DD_HOST_DEVICE Outcome Quiet(std::uint64_t timeout_ns, const Failed& failed) {
    return Apart([&](Lane& lane) { return lane.AwaitAll(timeout_ns, failed); });
  }

  // Looks at completions and rings for what nobody rang for, once. kOk: go on waiting.
  template <typename Failed>
  DD_HOST_DEVICE Outcome Help(Patience& patience, const Failed& failed) {
    return Apart([&](Lane& lane) { return lane.HelpOnce(patience, failed); });
  }

  // An entry that has not completed: what a wait in vain waited for.
  DD_HOST_DEVICE Note Pending() const {
    const Lane copy = *this;
    return copy.FindPending();
  }

  DD_HOST_DEVICE std::uint32_t failures() const { return Load(&state().failures); }
  DD_HOST_DEVICE std::uint32_t stale() const { return Load(&state().stale); }

 private:
  static constexpr unsigned kEpochShift = 12;
  static_assert(kMaxLaneEntries <= 1u << kEpochShift);
  // Entries of the completion ring, and laps, that are looked at together.
  static constexpr std::uint32_t kAhead = 16;
  static constexpr std::uint32_t kLoads = 8;

  DD_HOST_DEVICE GDA_APART Note FindPending() const {
    const std::uint32_t end = Load(&state().turn);
    for (std::uint32_t ticket = end - entries(); ticket != end; ++ticket) {
      if (!IsDone(ticket)) return Note::Decode(view_->notes[SlotOf(ticket)]);
    }
    return {PortOperation::kNone, kNoPeer};
  }

  DD_HOST_DEVICE LaneState& state() {
    if constexpr (kShared) {
      return *view_->state;
    } else {
      return own_;
    }
  }
  DD_HOST_DEVICE const LaneState& state() const {
    if constexpr (kShared) {
      return *view_->state;
    } else {
      return own_;
    }
  }
  DD_HOST_DEVICE static std::uint32_t Load(const std::uint32_t* word) {
    if constexpr (kShared) {
      return LoadWord32(word);
    } else {
      return *word;
    }
  }
  DD_HOST_DEVICE static void Store(std::uint32_t* word, std::uint32_t value) {
    if constexpr (kShared) {
      StoreFencedWord(word, value);
    } else {
      *word = value;
    }
  }

  DD_HOST_DEVICE std::uint32_t SlotOf(std::uint32_t ticket) const {
    return ticket & (entries() - 1);
  }
  // Whether the entry of a ticket has completed.
  DD_HOST_DEVICE bool IsDone(std::uint32_t ticket) const {
    const std::uint32_t since =
        LoadWord32(&view_->laps[SlotOf(ticket)]) * entries() - (ticket & ~(entries() - 1));
    return static_cast<std::int32_t>(since) > 0;  // or more, when the slot is another's by now
  }
  // How many of the `count` tickets from `first` on have completed, one after the other. Several
  // loads are under way at once.
  DD_HOST_DEVICE std::uint32_t Done(std::uint32_t first, std::uint32_t count) const {
    std::uint32_t done = 0;
    while (done < count) {
      const std::uint32_t some = count - done < kLoads ? count - done : kLoads;
      std::uint32_t laps[kLoads];
      GDA_UNROLL for (std::uint32_t i = 0; i < kLoads; ++i) {
        laps[i] = i < some ? LoadRelaxed(&view_->laps[SlotOf(first + done + i)]) : 0;
      }
      std::uint32_t found = 0;
      GDA_UNROLL for (std::uint32_t i = 0; i < kLoads; ++i) {
        const std::uint32_t ticket = first + done + i;
        const std::uint32_t since = laps[i] * entries() - (ticket & ~(entries() - 1));
        if (i == found && i<some&& static_cast<std::int32_t>(since)> 0) ++found;
      }
      done += found;
      if (found < some) break;
    }
    if (done != 0) DeviceFence();  // what came with them
    return done;
  }
  // Whether the slots of `count` tickets that were taken and not filled are free: the entries that
  // had them last have completed.
  DD_HOST_DEVICE bool AreFree(std::uint32_t first, std::uint32_t count) const {
    return Done(first - entries(), count) == count;
  }

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

  // What waits is done on a copy: the counts of a handle whose address nobody takes stay in
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
      SystemFence();  // whoever rings for these may be another thread
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
    if (const std::uint32_t broken = Load(&state().broken); broken != 0) {
      return static_cast<Outcome>(broken);
    }
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

  DD_HOST_DEVICE Outcome Break(Outcome why) {
    Store(&state().broken, static_cast<std::uint32_t>(why));
    return why;
  }

  // False: the ring holds what cannot be.
  template <typename Failed>
  DD_HOST_DEVICE bool TryPoll(const Failed& failed) {
    if constexpr (kShared) {
      if (!TryLockOnDevice(&state().polling)) return true;
    }
    const bool sound = Poll(failed);
    if constexpr (kShared) UnlockOnDevice(&state().polling);
    return sound;
  }

  DD_HOST_DEVICE const unsigned char* EntryAhead(std::uint32_t consumed) const {
    const DoneRing& ring = view_->queue.send_done;
    return EntryOf(ring, consumed & (ring.entry_count - 1));
  }
  DD_HOST_DEVICE unsigned PhaseOf(std::uint32_t consumed) const {
    return (consumed & view_->queue.send_done.entry_count) == 0 ? 1 : 0;
  }

  // One look at the next kAhead completions.
  template <typename Failed>
  DD_HOST_DEVICE bool Poll(const Failed& failed) {
    const std::uint32_t consumed = Load(&state().consumed);
    const std::uint32_t due = Load(&state().rung) - Load(&state().completed);
    std::uint32_t words[kAhead];
    words[0] = LoadAhead(EntryAhead(consumed));
    if (due > 1) {
      GDA_UNROLL for (std::uint32_t i = 1; i < kAhead; ++i) {
        words[i] = LoadAhead(EntryAhead(consumed + i));
      }
    }
    std::uint32_t found = 0;
    bool brought_bytes = kShared;  // then others look at what came with it
    GDA_UNROLL for (std::uint32_t i = 0; i < kAhead; ++i) {
      if (i != found || (i != 0 && i >= due)) continue;
      const auto one = fabric::efa_queue::ReadSendSuccess(words[i], PhaseOf(consumed + i));
      if (!one.is_one) continue;
      brought_bytes |= one.brought_bytes;
      ++found;
    }
    if (found == 0) {
      return !fabric::efa_queue::HasPhase(words[0], PhaseOf(consumed)) || PollOdd(consumed, failed);
    }
    if (brought_bytes) AcquireLoaded();
    const std::uint32_t turn = Load(&state().turn);
    if constexpr (kShared) DeviceFence();
    std::uint32_t ours = 0;
    bool sound = true;
    GDA_UNROLL for (std::uint32_t i = 0; i < kAhead; ++i) {
      if (i >= found) continue;
      switch (End(words[i] & 0xFFFF, turn)) {
        case Ended::kOurs:
          ++ours;
          break;
        case Ended::kStale:
          Store(&state().stale, Load(&state().stale) + 1);
          break;
        case Ended::kNonsense:
          sound = false;
      }
    }
    Store(&state().consumed, consumed + found);
    // Not of what was rung for: that is said after the doorbell, and the NIC may be faster.
    sound = sound && ours <= turn - Load(&state().completed);
    Store(&state().completed, Load(&state().completed) + ours);
    return sound;
  }

  // The next completion, which is there, and no success.
  template <typename Failed>
  DD_HOST_DEVICE bool PollOdd(std::uint32_t consumed, const Failed& failed) {
    using namespace fabric::efa_queue;  // NOLINT(build/namespaces)
    Completion done;
    const CqeSize size = view_->queue.send_done.entry_bytes == 32 ? CqeSize::k32 : CqeSize::k16;
    const Malformed why = DecodeCompletion(EntryAhead(consumed), size, PhaseOf(consumed), done);
    Store(&state().consumed, consumed + 1);
    if (why != Malformed::kNone || done.queue != QueueType::kSend) return false;
    const auto id = static_cast<std::uint32_t>(done.request_id);
    const Note note = Note::Decode(view_->notes[(id & kSlotMask) & (entries() - 1)]);
    if constexpr (kShared) DeviceFence();
    const Ended ended = End(id, Load(&state().turn));
    if (ended == Ended::kNonsense) return false;
    if (ended == Ended::kStale) {
      Store(&state().stale, Load(&state().stale) + 1);
      return true;
    }
    if (done.status != CompletionStatus::kOk) {
      failed(static_cast<std::uint8_t>(done.status), note);
      Store(&state().failures, Load(&state().failures) + 1);
    }
    Store(&state().completed, Load(&state().completed) + 1);
    return true;
  }

  static constexpr std::uint32_t kSlotMask = (1u << kEpochShift) - 1;
  enum class Ended : std::uint8_t { kOurs, kStale, kNonsense };

  // The last ticket that was handed over for the slot of this id, when all before `turn` are; there
  // is no later one before it has completed.
  DD_HOST_DEVICE DD_HOT std::uint32_t TicketOf(std::uint32_t id, std::uint32_t turn) const {
    return turn - 1 - ((turn - 1 - id) & (entries() - 1));
  }
  // The entry with this request id has completed. `turn`: loaded after its completion was seen.
  DD_HOST_DEVICE DD_HOT Ended End(std::uint32_t id, std::uint32_t turn) {
    if (id >> kEpochShift != epoch_) return Ended::kStale;
    const std::uint32_t slot = id & kSlotMask;
    if (slot >= entries()) return Ended::kNonsense;
    const std::uint32_t ticket = TicketOf(slot, turn);
    // Exclusive: without a look at memory, which a put that blocks would wait for.
    const bool under_way = kShared ? !IsDone(ticket) : turn - ticket <= turn - own_.oldest;
    if (!under_way) return Ended::kNonsense;
    StoreFencedWord(&view_->laps[slot], ticket / entries() + 1);
    return Ended::kOurs;
  }

  const LaneView* view_;
  EntryWriter<DirectStores> entries_;
  DirectStores stores_;
  std::uint32_t epoch_;
  LaneState own_;            // exclusive only
  std::uint32_t begin_ = 0;  // shared only: tickets of this handle that nobody waited for
  std::uint32_t end_ = 0;
};

}  // namespace gpu::gda

#endif  // GPU_GDA_DEVICE_LANE_H_
