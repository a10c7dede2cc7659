// Work posted and completions polled by a device: the same code for CUDA threads and for host
// threads that pose as a GPU.
//
//   DeviceQueue<> queue(view, state);          // one thread
//   while (queue.Post(work) != PostResult::kOk) queue.Poll(done);
//   queue.Ring();                              // fence, doorbell
//   while (queue.Poll(done) == PollResult::kEmpty) {}
//   queue.Save();
//
// Many threads of one team fill a batch together:
//   leader: Reserve(n) │ all: FillAt(posted + rank, work) │ barrier │ leader: Commit(n), Ring()
//
// Who fences what: a thread fills slots with plain stores; Ring() fences, and stores the doorbell.
// The entry of a read or a receive in the completion ring is read with an acquire, so that the
// bytes that came are visible to this thread where they are in the same memory; for others see
// docs/gda.md.
//
// Kept here, and not by the library that it is like (amzn/efa-dp-direct): how many slots are free,
// how many completions the ring has room for, whether a completion was expected, and whether the
// ring was overrun.

#ifndef GPU_GDA_DEVICE_QUEUE_H_
#define GPU_GDA_DEVICE_QUEUE_H_

#include <cstdint>

#include "fabric/efa_queue/cqe.h"
#include "fabric/efa_queue/host_device.h"
#include "fabric/efa_queue/receive_wqe.h"
#include "fabric/efa_queue/ring.h"
#include "fabric/efa_queue/wqe.h"
#include "gpu/gda/device_ops.h"
#include "gpu/gda/queue.h"

namespace gpu::gda {

enum class PostResult : std::uint8_t {
  kOk,
  kFull,      // no slot is free, or no room for the completion: poll
  kBellBusy,  // the last doorbell was not taken yet: try again
  kTooMany,   // more than max_batch at once: never possible
};

enum class PollResult : std::uint8_t {
  kOk,
  kEmpty,
  kUnexpected,  // a completion of nothing that was announced; it was consumed
  kMalformed,   // an entry that no EFA writes; it was consumed
  kOverrun,     // the NIC has come round: completions are lost, and counts with them
};

// Not thread-safe, except FillAt.
template <typename Stores = DirectStores>
class DeviceQueue {
 public:
  // Takes the state, which nobody else uses until Save. REQUIRES: made by FreshState(view).
  DD_HOST_DEVICE DeviceQueue(const QueueView& view, QueueState* home, Stores stores = Stores())
      : view_(view), home_(home), state_(*home), stores_(stores) {
    format_.wide = view.send.entry_bytes == sizeof(fabric::efa_queue::WideWqe);
    format_.long_request_ids = view.long_request_ids;
  }
  DD_HOST_DEVICE void Save() const { *home_ = state_; }

  // ---- Sending ----

  // Makes room for `count` entries of one batch; rings for what is there when they would be too
  // many. Nothing happens unless kOk.
  DD_HOST_DEVICE DD_HOT PostResult Reserve(std::uint32_t count) {
    fabric::efa_queue::Producer& send = state_.send;
    if (count > send.max_batch() || count > view_.send_done.entry_count) {
      return PostResult::kTooMany;
    }
    if (send.free() < count || send.in_flight() + count > view_.send_done.entry_count) {
      return PostResult::kFull;
    }
    if (send.unannounced() + count > send.max_batch()) Ring();
    if (send.unannounced() == 0 && !SendBellIsFree()) return PostResult::kBellBusy;
    return PostResult::kOk;
  }
  // Writes the entry that is `ahead` of the next one. Any thread. REQUIRES: it was reserved.
  DD_HOST_DEVICE DD_HOT void Fill(std::uint32_t ahead, const fabric::efa_queue::SendWork& work) {
    FillAt(state_.send.posted() + ahead, work);
  }
  // The same for the entry with that counter, by a thread whose own handle is not the one that
  // reserves, commits and rings.
  DD_HOST_DEVICE DD_HOT void FillAt(std::uint32_t counter,
                                    const fabric::efa_queue::SendWork& work) {
    const std::uint32_t entries = state_.send.entries();
    const unsigned phase = (counter & entries) != 0 ? 1 : 0;
    unsigned char* const slot = SlotOf(counter & (entries - 1));
    // A size that is a constant keeps the entry in registers on its way.
    format_.wide ? FillSlot<true>(work, phase, slot) : FillSlot<false>(work, phase, slot);
  }
  // The next `count` entries were filled. REQUIRES: reserved.
  DD_HOST_DEVICE DD_HOT void Commit(std::uint32_t count) { state_.send.Post(count); }

  // All three for one entry.
  DD_HOST_DEVICE DD_HOT PostResult Post(const fabric::efa_queue::SendWork& work) {
    const PostResult result = Reserve(1);
    if (result != PostResult::kOk) return result;
    Fill(0, work);
    Commit(1);
    return PostResult::kOk;
  }

  // Everything that was posted is announced: fence, then the running counter. Nothing when nothing
  // is new.
  DD_HOST_DEVICE DD_HOT void Ring() {
    if (state_.send.unannounced() == 0) return;
    stores_.Fence();
    state_.send_rung = state_.send.Ring();
    state_.send_bell_free = false;
    stores_.Bell(view_.send.bell.word, state_.send_rung);
  }

  // ---- Receiving ----

  // One receive, each segment a descriptor, written but not announced. kTooMany: no segment.
  DD_HOST_DEVICE PostResult PostReceive(const fabric::efa_queue::ReceiveWork& work) {
    fabric::efa_queue::Producer& receive = state_.receive;
    const std::uint32_t count = work.segment_count;
    if (count == 0 || count > receive.max_batch()) return PostResult::kTooMany;
    if (receive.free() < count) return PostResult::kFull;
    if (receive.unannounced() + count > receive.max_batch()) RingReceive();
    if (receive.unannounced() == 0 && !ReceiveBellIsFree()) return PostResult::kBellBusy;
    fabric::efa_queue::EncodeReceive(work, view_.receive.entries, receive.entries(),
                                     receive.posted());
    receive.Post(count);
    return PostResult::kOk;
  }
  DD_HOST_DEVICE void RingReceive() {
    if (state_.receive.unannounced() == 0) return;
    stores_.Fence();
    state_.receive_rung = state_.receive.Ring();
    state_.receive_bell_free = false;
    stores_.Bell(view_.receive.bell.word, state_.receive_rung);
  }

  // ---- Completions ----

  // The next completion of a send, write or read. With kOk one slot more is free.
  DD_HOST_DEVICE DD_HOT PollResult Poll(fabric::efa_queue::Completion& done) {
    const PollResult result = PollRing(view_.send_done, state_.send_done, done);
    if (result != PollResult::kOk) return result;
    if (state_.send.in_flight() == state_.send.unannounced()) return PollResult::kUnexpected;
    state_.send.Complete();
    return PollResult::kOk;
  }
  // What PollSome found.
  struct Tally {
    std::uint32_t done = 0;
    std::uint32_t failed = 0;
    std::uint32_t status = 0;  // EFA's, of the last failure; else untouched
  };
  // Several completions of what was announced, in the time of one where a look takes long. kOk: at
  // least one. kMalformed: perhaps some, and then an entry that no EFA writes.
  DD_HOST_DEVICE DD_HOT PollResult PollSome(Tally& tally) {
    using fabric::efa_queue::Malformed;
    const std::uint32_t due = state_.send.in_flight() - state_.send.unannounced();
    const std::uint32_t looks = due < kAhead ? due : kAhead;
    std::uint64_t words[kAhead];
    GDA_UNROLL for (std::uint32_t i = 0; i < kAhead; ++i) {
      words[i] = i < looks ? LoadAhead(EntryOf(view_.send_done, state_.send_done.slot(i))) : 0;
    }
    std::uint32_t found = 0;
    bool brought_bytes = false;
    Malformed why = Malformed::kWrongPhase;
    GDA_UNROLL for (std::uint32_t i = 0; i < kAhead; ++i) {
      fabric::efa_queue::Completion done;
      if (i >= looks) break;
      why = fabric::efa_queue::DecodeSendWord(words[i], state_.send_done.phase(i), done);
      if (why != Malformed::kNone) break;
      ++found;
      brought_bytes |= done.operation == fabric::efa_queue::Operation::kRead;
      if (done.status == fabric::efa_queue::CompletionStatus::kOk) continue;
      ++tally.failed;
      tally.status = static_cast<std::uint32_t>(done.status);
    }
    // Nothing comes with the completion of a send or write; and a fence takes a GPU a microsecond.
    if (brought_bytes) AcquireLoaded();
    tally.done += found;
    state_.send_done.Pop(found);
    state_.send.Complete(found);
    if (why != Malformed::kNone && why != Malformed::kWrongPhase) {
      state_.send_done.Pop();
      return PollResult::kMalformed;
    }
    return found != 0 ? PollResult::kOk : EmptyOrOverrun(view_.send_done, state_.send_done);
  }

  // The next completion of a receive, or of a peer's write with immediate.
  DD_HOST_DEVICE PollResult PollReceive(fabric::efa_queue::Completion& done) {
    return PollRing(view_.receive_done, state_.receive_done, done);
  }
  // The descriptors of a receive that has ended are free again: as many as it had segments, which
  // its poster knows by the request id. An unsolicited immediate takes none.
  DD_HOST_DEVICE void FreeReceive(std::uint32_t descriptors) {
    state_.receive.Complete(descriptors);
  }

  DD_HOST_DEVICE std::uint32_t in_flight() const { return state_.send.in_flight(); }
  DD_HOST_DEVICE std::uint32_t posted() const { return state_.send.posted(); }

 private:
  DD_HOST_DEVICE DD_HOT unsigned char* SlotOf(std::uint32_t slot) const {
    return static_cast<unsigned char*>(view_.send.entries) +
           std::uint64_t{slot} * format_.entry_bytes();
  }

  template <bool kWide>
  DD_HOST_DEVICE DD_HOT void FillSlot(const fabric::efa_queue::SendWork& work, unsigned phase,
                                      unsigned char* slot) {
    fabric::efa_queue::SendFormat format = format_;
    format.wide = kWide;
    constexpr unsigned kBytes =
        kWide ? sizeof(fabric::efa_queue::WideWqe) : sizeof(fabric::efa_queue::NarrowWqe);
    alignas(8) unsigned char entry[kBytes];
    fabric::efa_queue::EncodeSend(work, format, phase, entry);
    stores_.Entry(slot, entry, kBytes);
  }

  // Whether the last value was taken. A completion of everything announced says so, too, and is
  // there to be known without a look at the NIC's word.
  DD_HOST_DEVICE DD_HOT bool SendBellIsFree() {
    const std::uint32_t* taken = view_.send.bell.taken;
    if (!state_.send_bell_free) {
      state_.send_bell_free =
          taken == nullptr || state_.send.in_flight() == 0 || LoadShared(taken) == state_.send_rung;
    }
    return state_.send_bell_free;
  }
  DD_HOST_DEVICE bool ReceiveBellIsFree() {
    const std::uint32_t* taken = view_.receive.bell.taken;
    if (!state_.receive_bell_free) {
      state_.receive_bell_free = taken == nullptr || LoadShared(taken) == state_.receive_rung;
    }
    return state_.receive_bell_free;
  }

  DD_HOST_DEVICE DD_HOT PollResult PollRing(const DoneRing& ring,
                                            fabric::efa_queue::CompletionConsumer& at,
                                            fabric::efa_queue::Completion& done) {
    using fabric::efa_queue::CqeSize;
    using fabric::efa_queue::Malformed;
    const CqeSize size = ring.entry_bytes == 32 ? CqeSize::k32 : CqeSize::k16;
    const Malformed why =
        fabric::efa_queue::DecodeCompletion(EntryOf(ring, at.slot()), size, at.phase(), done);
    if (why == Malformed::kNone) {
      at.Pop();
      return PollResult::kOk;
    }
    if (why != Malformed::kWrongPhase) {
      at.Pop();
      return PollResult::kMalformed;
    }
    return EmptyOrOverrun(ring, at);
  }

  DD_HOST_DEVICE static const unsigned char* EntryOf(const DoneRing& ring, std::uint32_t slot) {
    return static_cast<const unsigned char*>(ring.entries) + std::uint64_t{slot} * ring.entry_bytes;
  }

  // Nothing is where the next completion would be. Is there something in the last slot of this lap,
  // which is written after it?
  DD_HOST_DEVICE DD_HOT PollResult EmptyOrOverrun(const DoneRing& ring,
                                                  const fabric::efa_queue::CompletionConsumer& at) {
    using fabric::efa_queue::CompletionIsThere;
    if (++empty_polls_ % kPollsBetweenOverrunChecks != 0) return PollResult::kEmpty;
    const std::uint32_t last = ring.entry_count - 1;
    const bool lapped =
        last != 0 && CompletionIsThere(EntryOf(ring, at.slot(last)), at.phase(last));
    // It may all have been written since the first look: then this one is here, too.
    const bool here = CompletionIsThere(EntryOf(ring, at.slot()), at.phase());
    return lapped && !here ? PollResult::kOverrun : PollResult::kEmpty;
  }

  // Completions that are looked at together.
  static constexpr std::uint32_t kAhead = 8;
  // A look at a second entry costs a GPU another trip over PCIe.
  static constexpr std::uint32_t kPollsBetweenOverrunChecks = 64;

  QueueView view_;
  QueueState* home_;
  QueueState state_;
  fabric::efa_queue::SendFormat format_;
  Stores stores_;
  std::uint32_t empty_polls_ = 0;
};

}  // namespace gpu::gda

#endif  // GPU_GDA_DEVICE_QUEUE_H_
