// What is counted of one queue: tickets, slots, and how far each is.
//
//   ticket       counts the entries of a queue from its connection on
//   slot         where a ticket's entry is: ticket mod entries; of one ticket at a time
//   lap          of a slot: how often its entry has completed
//   request id   the slot, and the epoch of the connection above it
//
// Exclusive counts are copied from the device's memory and back; of shared ones every look is at
// the memory itself.

#ifndef DRYDOCK_GPU_GDA_DEVICE_LANE_COUNTS_H_
#define DRYDOCK_GPU_GDA_DEVICE_LANE_COUNTS_H_

#include <cstdint>

#include "drydock/gpu/gda/device/views.h"
#include "drydock/gpu/gda/queue/device_ops.h"

namespace drydock::gpu::gda {

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

// Base of Lane, of one thread's handle. Exclusive: of one handle on the queue, from construction to
// Save.
template <Sharing kSharing>
class LaneCounts {
 public:
  static constexpr bool kShared = kSharing == Sharing::kShared;

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

  // An entry that has not completed: what a wait in vain waited for.
  DD_HOST_DEVICE Note Pending() const {
    const LaneCounts copy = *this;
    return copy.FindPending();
  }

  // What every call on the queue answers from now on; kOk: nothing ended it.
  DD_HOST_DEVICE Outcome broken() const { return static_cast<Outcome>(Load(&state().broken)); }
  DD_HOST_DEVICE Outcome Break(Outcome why) {
    Store(&state().broken, static_cast<std::uint32_t>(why));
    return why;
  }

  DD_HOST_DEVICE std::uint32_t failures() const { return Load(&state().failures); }
  DD_HOST_DEVICE std::uint32_t stale() const { return Load(&state().stale); }

 protected:
  static constexpr unsigned kEpochShift = 12;
  static constexpr std::uint32_t kSlotMask = (1u << kEpochShift) - 1;
  static_assert(kMaxLaneEntries <= 1u << kEpochShift);
  // Laps that are looked at together.
  static constexpr std::uint32_t kLoads = 8;

  // `view` outlives it.
  DD_HOST_DEVICE LaneCounts(const LaneView& view, std::uint32_t epoch)
      : view_(&view), epoch_(epoch) {
    if constexpr (!kShared) {
      own_ = *view.state;
    }
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

  // The last ticket that was handed over for the slot of this id, when all before `turn` are; there
  // is no later one before it has completed.
  DD_HOST_DEVICE DD_HOT std::uint32_t TicketOf(std::uint32_t id, std::uint32_t turn) const {
    return turn - 1 - ((turn - 1 - id) & (entries() - 1));
  }

  const LaneView* view_;
  std::uint32_t epoch_;
  LaneState own_;  // exclusive only

 private:
  DD_HOST_DEVICE GDA_APART Note FindPending() const {
    const std::uint32_t end = Load(&state().turn);
    for (std::uint32_t ticket = end - entries(); ticket != end; ++ticket) {
      if (!IsDone(ticket)) return Note::Decode(view_->notes[SlotOf(ticket)]);
    }
    return {PortOperation::kNone, kNoPeer};
  }
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_LANE_COUNTS_H_
