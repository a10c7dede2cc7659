// Work posted and completions polled by a device: the same code for CUDA threads and for host
// threads that pose as a GPU.
//
//   DeviceQueue<> queue(view, state);          // one thread
//   while (queue.Post(work) != PostResult::kOk) {
//     queue.Ring();                            // what is there ends only when it was rung for
//     queue.Poll(done);
//   }
//   queue.Ring();                              // fence, doorbell
//   while (queue.Poll(done) == PollResult::kEmpty) {}
//   queue.Save();
//
// Many threads of one team fill a batch together:
//   leader: Reserve(n) | all: FillAt(posted + rank, work) | barrier | leader: Commit(n), Ring()
//
// Fences: a thread fills slots with plain stores; Ring() fences, and stores the doorbell. The entry
// of a read or a receive in the completion ring is read with an acquire, so that the bytes that
// came are visible to this thread where they are in the same memory; for others see docs/gda.md.
//
// Kept here, and not by the library that it is like (amzn/efa-dp-direct): how many slots are free,
// how many completions the ring has room for, whether a completion was expected, and whether the
// ring was overrun.

#ifndef DRYDOCK_GPU_GDA_QUEUE_DEVICE_QUEUE_H_
#define DRYDOCK_GPU_GDA_QUEUE_DEVICE_QUEUE_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/fabric/efa_queue/prepared_send.h"
#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/gpu/gda/queue/device_ops.h"
#include "drydock/gpu/gda/queue/done_ring.h"
#include "drydock/gpu/gda/queue/entry_writer.h"
#include "drydock/gpu/gda/queue/queue.h"

namespace drydock::gpu::gda {

enum class PostResult : std::uint8_t {
  kOk,
  kFull,      // no slot is free, or no room for the completion: ring for what is there, and poll
  kBellBusy,  // the last doorbell was not taken yet: try again
  kTooMany,   // more than max_batch at once: never possible
};

// Not thread-safe, except FillAt.
template <typename Stores = DirectStores>
class DeviceQueue {
 public:
  // Takes the state, which no other handle uses until Save. REQUIRES: made by FreshState(view).
  DD_HOST_DEVICE DeviceQueue(const QueueView& view, QueueState* home, Stores stores = Stores())
      : view_(view), home_(home), state_(*home), entries_(view), stores_(stores) {}
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
    entries_.Write(counter, work, stores_);
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

  // What Post and Fill take, for many whose addresses are `offset` bytes further. The request id is
  // the counter.
  DD_HOST_DEVICE DD_HOT fabric::efa_queue::PreparedSend Prepare(
      const fabric::efa_queue::SendWork& work) const {
    return {work, entries_.format()};
  }
  DD_HOST_DEVICE DD_HOT PostResult Post(const fabric::efa_queue::PreparedSend& prepared,
                                        std::uint64_t offset) {
    const PostResult result = Reserve(1);
    if (result != PostResult::kOk) return result;
    Fill(0, prepared, offset);
    Commit(1);
    return PostResult::kOk;
  }
  DD_HOST_DEVICE DD_HOT void Fill(std::uint32_t ahead,
                                  const fabric::efa_queue::PreparedSend& prepared,
                                  std::uint64_t offset) {
    entries_.Write(state_.send.posted() + ahead, prepared, offset, stores_);
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
  // Another thread of the team, whose handle has the same counts, rings for all.
  DD_HOST_DEVICE DD_HOT void RungByAnother() {
    state_.send_rung = state_.send.Ring();
    state_.send_bell_free = false;
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
    const PollResult result = overrun_.Poll(view_.send_done, state_.send_done, done);
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
  // Several completions of what was announced, in the time of one where a look takes long: kOk, at
  // least one. Otherwise as Poll.
  DD_HOST_DEVICE DD_HOT PollResult PollSome(Tally& tally) {
    const std::uint32_t due = state_.send.in_flight() - state_.send.unannounced();
    if (due == 0) return overrun_.Empty(view_.send_done, state_.send_done);
    std::uint32_t words[kAhead];
    words[0] = LoadAhead(EntryAhead(0));
    if (due > 1) {  // all are under way at once; a put that blocks has none of them
      GDA_UNROLL for (std::uint32_t i = 1; i < kAhead; ++i) {
        words[i] = i < due ? LoadAhead(EntryAhead(i)) : 0;
      }
    }
    const unsigned phase = state_.send_done.phase();
    const auto first = fabric::efa_queue::ReadSendSuccess(words[0], phase);
    if (!first.is_one) {
      if (fabric::efa_queue::HasPhase(words[0], phase)) return PollOdd(tally);
      return overrun_.Empty(view_.send_done, state_.send_done);
    }
    std::uint32_t found = 1;
    bool brought_bytes = first.brought_bytes;
    GDA_UNROLL for (std::uint32_t i = 1; i < kAhead; ++i) {
      if (i >= due) break;
      const auto next = fabric::efa_queue::ReadSendSuccess(words[i], state_.send_done.phase(i));
      if (!next.is_one) break;
      ++found;
      brought_bytes |= next.brought_bytes;
    }
    // Nothing comes with the completion of a send or write; and a fence takes a GPU a microsecond.
    if (brought_bytes) AcquireLoaded();
    tally.done += found;
    Take(found);
    return PollResult::kOk;
  }
  // Waits for a while for the only one that is under way, with as little to do as there can be.
  // False: it is not the only one, or has not ended, or not well, which the other ways to poll tell
  // apart.
  DD_HOST_DEVICE DD_HOT bool AwaitOnly() {
    constexpr int kLooks = 64;
    if (state_.send.in_flight() != 1 || state_.send.unannounced() != 0) return false;
    const unsigned char* const entry = EntryAhead(0);
    const unsigned phase = state_.send_done.phase();
    for (int look = 0; look < kLooks; ++look) {
      const auto success = fabric::efa_queue::ReadSendSuccess(LoadAhead(entry), phase);
      if (!success.is_one) continue;
      if (success.brought_bytes) AcquireLoaded();
      Take(1);
      return true;
    }
    return false;
  }
  // Whether the one that is `ahead` of the next has ended well. Any thread of a team; then one and
  // all Take.
  DD_HOST_DEVICE DD_HOT bool HasEnded(std::uint32_t ahead) const {
    const auto success = fabric::efa_queue::ReadSendSuccess(LoadAhead(EntryAhead(ahead)),
                                                            state_.send_done.phase(ahead));
    if (success.is_one && success.brought_bytes) AcquireLoaded();
    return success.is_one;
  }
  // The next `count` completions are seen. REQUIRES: they are there.
  DD_HOST_DEVICE DD_HOT void Take(std::uint32_t count) {
    state_.send_done.Pop(count);
    state_.send.Complete(count);
  }

  // The next completion of a receive, or of a peer's write with immediate.
  DD_HOST_DEVICE PollResult PollReceive(fabric::efa_queue::Completion& done) {
    return overrun_.Poll(view_.receive_done, state_.receive_done, done);
  }
  // The descriptors of a receive that has ended are free again: as many as it had segments, which
  // its poster knows by the request id. An unsolicited immediate takes none.
  DD_HOST_DEVICE void FreeReceive(std::uint32_t descriptors) {
    state_.receive.Complete(descriptors);
  }

  DD_HOST_DEVICE std::uint32_t in_flight() const { return state_.send.in_flight(); }
  DD_HOST_DEVICE std::uint32_t posted() const { return state_.send.posted(); }
  // Entries that can be posted, announced at once, and completed before the next.
  DD_HOST_DEVICE std::uint32_t largest_batch() const {
    const std::uint32_t batch = state_.send.max_batch();
    const std::uint32_t room = view_.send_done.entry_count;
    return batch < room ? batch : room;
  }

 private:
  // The next completion, which is there, and failed or is none.
  DD_HOST_DEVICE DD_HOT PollResult PollOdd(Tally& tally) {
    fabric::efa_queue::Completion done;
    const PollResult result = Poll(done);
    if (result != PollResult::kOk) return result;
    ++tally.done;
    if (done.status != fabric::efa_queue::CompletionStatus::kOk) {
      ++tally.failed;
      tally.status = static_cast<std::uint32_t>(done.status);
    }
    return result;
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

  DD_HOST_DEVICE DD_HOT const unsigned char* EntryAhead(std::uint32_t ahead) const {
    return EntryOf(view_.send_done, state_.send_done.slot(ahead));
  }

  // Completions that are looked at together.
  static constexpr std::uint32_t kAhead = 16;

  QueueView view_;
  QueueState* home_;
  QueueState state_;
  EntryWriter<Stores> entries_;
  Stores stores_;
  OverrunWatch overrun_;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_QUEUE_DEVICE_QUEUE_H_
