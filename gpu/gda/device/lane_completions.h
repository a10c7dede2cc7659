// The completions of one queue: looked at several at a time, by any thread that waits; each frees
// its slot.

#ifndef DRYDOCK_GPU_GDA_DEVICE_LANE_COMPLETIONS_H_
#define DRYDOCK_GPU_GDA_DEVICE_LANE_COMPLETIONS_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/gpu/gda/device/lane_counts.h"
#include "drydock/gpu/gda/device/views.h"
#include "drydock/gpu/gda/queue/device_ops.h"
#include "drydock/gpu/gda/queue/done_ring.h"

namespace drydock::gpu::gda {

// Base of Lane. `Failed` is told of each failure: failed(status, Note).
template <Sharing kSharing>
class LaneCompletions : public LaneCounts<kSharing> {
  using Counts = LaneCounts<kSharing>;

 public:
  using Counts::entries;
  using Counts::kShared;

  // Exclusive: whether everything that was taken has completed well, seen by all threads of the
  // scope, of which each looks at one completion, and takes it. False: not for a while, or not
  // well, or there is too much of it, or the queue is broken; nothing has happened then.
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
    if (n > scope.size() || scope.Broadcast((own_.turn - own_.rung) | own_.broken) != 0) {
      return false;
    }
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

 protected:
  using Counts::Counts;
  using Counts::epoch_;
  using Counts::IsDone;
  using Counts::kEpochShift;
  using Counts::kSlotMask;
  using Counts::Load;
  using Counts::own_;
  using Counts::SlotOf;
  using Counts::state;
  using Counts::Store;
  using Counts::TicketOf;
  using Counts::view_;

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

 private:
  // Entries of the completion ring that are looked at together.
  static constexpr std::uint32_t kAhead = 16;
  enum class Ended : std::uint8_t { kOurs, kStale, kNonsense };

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
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_LANE_COMPLETIONS_H_
