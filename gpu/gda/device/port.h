// One-sided operations between ranks, by any thread of a device: put, put with signal, signal, get;
// flush, quiet, wait, barrier.
//
//   Port<Sharing::kExclusive> port(view, team.block());   // this block has the queue to itself
//   port.PutSignal(team, {.peer = 1, .remote = 0, .local = 4096, .bytes = 256}, kTokens);
//   port.WaitSignal(team, 1, kTokens, 1);                  // and everything that came with it ...
//   port.MakeVisible(team);                                // ... is visible to this device
//   port.Save();
//
// A Scope says whose operation it is. All its threads call, with the same arguments: SingleThread,
// a warp or a block (the teams that kernels get). It has rank(), size(), Sync(), Broadcast(value of
// rank 0), All(whether it is true in all of them). What they have stored in the window before the
// call is sent. One result for all of them.
//
// What EFA promises, and so what a port does:
//
//   Two operations have no order.                No strong signals. Signal() says nothing of puts,
//                                                even of those before it to the same peer: it may
//                                                arrive first. For a signal that means data,
//                                                either put it with the data, or call Quiet
//                                                before.
//   An immediate comes after its own bytes.      PutSignal is one write with immediate: its signal
//                                                vouches for this put, and no other. n puts that
//                                                arrived are a count of n, in whatever order.
//   Immediates come without a posted receive,    WaitSignal polls the receive rings of all queues:
//   as entries of the receive completion ring.   without waits they overrun, and counts are
//                                                lost. That ends with an error.
//   A completion at the initiator says that      Quiet is both of NVSHMEM's quiet and NCCL's flush:
//   the target's NIC has taken all bytes.        sources may be reused, and a signal after it is
//                                                behind the data.
//   A device may see bytes later than the        MakeVisible reads its own memory back through the
//   entry that reports them, which lies in       NIC: a PCIe read pushes writes before it (NCCL:
//   other memory.                                NVIDIA/nccl src/transport/net_ib.cc, iflush).

#ifndef DRYDOCK_GPU_GDA_DEVICE_PORT_H_
#define DRYDOCK_GPU_GDA_DEVICE_PORT_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/gpu/gda/device/immediate.h"
#include "drydock/gpu/gda/device/lane.h"
#include "drydock/gpu/gda/device/receive_entry.h"
#include "drydock/gpu/gda/device/views.h"
#include "drydock/gpu/gda/queue/device_ops.h"

namespace drydock::gpu::gda {

// One thread, as a scope.
struct SingleThread {
  DD_HOST_DEVICE std::uint32_t rank() const { return 0; }
  DD_HOST_DEVICE std::uint32_t size() const { return 1; }
  DD_HOST_DEVICE void Sync() {}
  DD_HOST_DEVICE std::uint32_t Broadcast(std::uint32_t value) { return value; }
  DD_HOST_DEVICE bool All(bool value) { return value; }
};

// What moves: offsets in the windows of this rank and of the peer, which may be this rank itself.
struct Piece {
  std::uint32_t peer = 0;
  std::uint64_t remote = 0;
  std::uint64_t local = 0;
  std::uint32_t bytes = 0;
};

// When the NIC is told: at once, or with a later operation, Flush, Quiet or wait of this queue.
enum class Bells : std::uint8_t { kNow, kLater };

// Ranks first, first + stride, ...: `size` of them, this one among them. Teams that meet at
// barriers at the same time have a signal each, which is used for nothing else.
struct RankTeam {
  std::uint32_t first = 0;
  std::uint32_t stride = 1;
  std::uint32_t size = 0;
  std::uint32_t signal = kSignals - 1;

  DD_HOST_DEVICE std::uint32_t At(std::uint32_t i) const { return first + i * stride; }
};

// Errors of all functions that return an Outcome: kFailed, operations of this handle or (shared)
// this queue have failed since the last time that it was said; kTimedOut; kBroken, a ring holds
// what cannot be; kTooMany. The first of them is in PortView::error, with operation and peer. After
// kTimedOut and kBroken all later calls on the queue fail at once, and after a receive ring of any
// queue was overrun all waits for signals that have not come. Exclusive: the queue has no other
// handle between construction and Save. REQUIRES of all: peers and sources are below
// PortView::ranks, signals below kSignals.
template <Sharing kSharing>
class Port {
 public:
  // On the queue `queue` modulo how many there are: a block's number, or HashQueue.
  DD_HOST_DEVICE Port(const PortView& view, std::uint32_t queue)
      : view_(view),
        queue_(queue % view.queues),
        lane_(view.lanes[queue_], view.epoch),
        reported_(lane_.failures()) {}
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  // Exclusive: puts back what the next handle has to know. REQUIRES: rank 0 of the scope calls.
  DD_HOST_DEVICE void Save() const { lane_.Save(); }

  // A queue for a peer and whatever else shall not wait for each other.
  DD_HOST_DEVICE static std::uint32_t HashQueue(std::uint32_t peer, std::uint32_t other) {
    return ((peer * 31 + other) * 0x9E3779B1u) >> 16;
  }

  // ---- Non-blocking: on the way when they return, complete after Quiet ----

  template <typename Scope>
  DD_HOST_DEVICE Outcome Put(Scope& scope, const Piece& piece, Bells bells = Bells::kNow) {
    return PostEach(scope, 1, bells, [&](std::uint32_t) {
      return Request{PortOperation::kPut, piece, 0};
    });
  }
  // The peer counts `signal` of this rank up by one, when the bytes are there and not before.
  template <typename Scope>
  DD_HOST_DEVICE Outcome PutSignal(Scope& scope, const Piece& piece, std::uint32_t signal,
                                   Bells bells = Bells::kNow) {
    return PostEach(scope, 1, bells, [&](std::uint32_t) {
      return Request{PortOperation::kPutSignal, piece, signal};
    });
  }
  // The same without bytes: in no order with any put.
  template <typename Scope>
  DD_HOST_DEVICE Outcome Signal(Scope& scope, std::uint32_t peer, std::uint32_t signal,
                                Bells bells = Bells::kNow) {
    return PostEach(scope, 1, bells, [&](std::uint32_t) {
      return Request{PortOperation::kSignal, {.peer = peer}, signal};
    });
  }
  template <typename Scope>
  DD_HOST_DEVICE Outcome Get(Scope& scope, const Piece& piece, Bells bells = Bells::kNow) {
    return PostEach(scope, 1, bells, [&](std::uint32_t) {
      return Request{PortOperation::kGet, piece, 0};
    });
  }

  // What PostEach posts.
  struct Request {
    PortOperation operation = PortOperation::kPut;
    Piece piece;
    std::uint32_t signal = 0;
  };
  // Requests 0 to count-1, as `request` of the number says: by as many threads of the scope as
  // there are, in batches that ring once.
  template <typename Scope, typename Requests>
  DD_HOST_DEVICE Outcome PostEach(Scope& scope, std::uint32_t count, Bells bells,
                                  const Requests& request) {
    const std::uint32_t most =
        lane_.largest_batch() < scope.size() ? lane_.largest_batch() : scope.size();
    for (std::uint32_t begin = 0; begin < count; begin += most) {
      const std::uint32_t n = count - begin < most ? count - begin : most;
      std::uint32_t first = 0;
      Outcome outcome = Outcome::kOk;
      if (scope.rank() == 0) outcome = lane_.Take(n, view_.timeout_ns, failed(), first);
      outcome = Agree(scope, outcome);
      if (outcome != Outcome::kOk) return GiveUp(scope, outcome, request(begin));
      first = scope.Broadcast(first);
      if (scope.rank() < n) Fill(first + scope.rank(), request(begin + scope.rank()));
      scope.Sync();
      const bool ring = bells == Bells::kNow && begin + n == count;
      if (scope.rank() == 0) outcome = lane_.HandOver(first, n, ring, view_.timeout_ns, failed());
      outcome = Agree(scope, outcome);
      if (outcome != Outcome::kOk) return GiveUp(scope, outcome, request(begin));
    }
    return Outcome::kOk;
  }

  // What was posted on this queue is announced.
  template <typename Scope>
  DD_HOST_DEVICE Outcome Flush(Scope& scope) {
    return AsOne(scope, [this] { return lane_.Flush(view_.timeout_ns, failed()); });
  }
  // Everything that this handle has posted has completed; exclusive: all of the queue.
  template <typename Scope>
  DD_HOST_DEVICE Outcome Quiet(Scope& scope) {
    if constexpr (kSharing == Sharing::kExclusive) {
      if (lane_.HasEndedAtOnce(scope)) return Agree(scope, Failures());
    }
    return AsOne(scope, [this] {
      const Outcome outcome = lane_.Quiet(view_.timeout_ns, failed());
      return outcome == Outcome::kOk ? Failures() : outcome;
    });
  }

  // ---- Signals ----

  // How often `source` has signalled, as far as the queues were polled; less what was taken back.
  DD_HOST_DEVICE std::uint32_t ReadSignal(std::uint32_t source, std::uint32_t signal) const {
    return LoadWord32(&view_.state->counts[source][signal]);
  }
  // Waits until it is `least` at least, by signed difference.
  template <typename Scope>
  DD_HOST_DEVICE Outcome WaitSignal(Scope& scope, std::uint32_t source, std::uint32_t signal,
                                    std::uint32_t least) {
    return AsOne(scope, [&] {
      Patience patience(view_.timeout_ns);
      std::uint32_t looks = 0;
      if (const Outcome why = lane_.broken(); why != Outcome::kOk) return why;
      while (static_cast<std::int32_t>(ReadSignal(source, signal) - least) < 0) {
        const Outcome polled = PollArrivals();
        if (polled == Outcome::kBroken) lane_.Break(polled);
        if (polled != Outcome::kOk) return polled;
        // Our own completions now and then: a look at them is a trip over PCIe, too.
        if (++looks % 16 != 0) continue;
        const Outcome helped = lane_.Help(patience, failed());
        if (helped == Outcome::kOk) continue;
        Complain(helped, PortOperation::kWait, 0, source);
        return helped;
      }
      return Outcome::kOk;
    });
  }
  // Counts `seen` fewer from now on: a signal that was waited for may be used again. Signals that
  // arrive meanwhile are not lost. One thread calls.
  DD_HOST_DEVICE void ResetSignal(std::uint32_t source, std::uint32_t signal, std::uint32_t seen) {
    FetchAdd(&view_.state->counts[source][signal], 0 - seen);
  }
  // What WaitSignal has seen arrive is visible to this device: to the calling scope, and to threads
  // that meet it at a barrier.
  template <typename Scope>
  DD_HOST_DEVICE Outcome MakeVisible(Scope& scope) {
    const Piece back{view_.rank, view_.window_bytes, view_.window_bytes + kFlushBytes / 2, 8};
    const Outcome posted = Get(scope, back);
    return posted == Outcome::kOk ? Quiet(scope) : posted;
  }

  // Waits until all ranks of the team have called. What each has posted by this handle before has
  // completed: it is quiet first, or the signal might overtake a put. One scope of a rank calls.
  template <typename Scope>
  DD_HOST_DEVICE Outcome Barrier(Scope& scope, const RankTeam& team) {
    Outcome outcome = Quiet(scope);
    if (outcome != Outcome::kOk) return outcome;
    std::uint32_t round = 0;
    if (scope.rank() == 0) round = FetchAdd(&view_.state->rounds[team.signal], 1) + 1;
    round = scope.Broadcast(round);
    outcome = PostEach(scope, team.size, Bells::kNow, [&](std::uint32_t i) {
      return Request{PortOperation::kSignal, {.peer = team.At(i)}, team.signal};
    });
    for (std::uint32_t i = 0; i < team.size && outcome == Outcome::kOk; ++i) {
      outcome = WaitSignal(scope, team.At(i), team.signal, round);
    }
    return outcome;
  }

 private:
  // Records a failed completion.
  struct FailedSink {
    const PortView* view;
    std::uint32_t queue;
    DD_HOST_DEVICE void operator()(std::uint8_t status, Note note) const {
      Record(*view, queue, {Outcome::kFailed, note.operation, status, 0, note.peer});
    }
  };
  DD_HOST_DEVICE FailedSink failed() const { return {&view_, queue_}; }

  template <typename Scope>
  DD_HOST_DEVICE static Outcome Agree(Scope& scope, Outcome of_first) {
    return static_cast<Outcome>(scope.Broadcast(static_cast<std::uint32_t>(of_first)));
  }
  // By the first thread of the scope, for all. What is still under way is what it waited for.
  template <typename Scope, typename Work>
  DD_HOST_DEVICE Outcome AsOne(Scope& scope, const Work& work) {
    Outcome outcome = Outcome::kOk;
    scope.Sync();
    if (scope.rank() == 0) {
      outcome = work();
      if (outcome != Outcome::kOk) {
        const Note note = lane_.Pending();
        Complain(outcome, note.operation, 0, note.peer);
      }
    }
    return Agree(scope, outcome);
  }
  // The request could not be posted.
  template <typename Scope>
  DD_HOST_DEVICE Outcome GiveUp(Scope& scope, Outcome outcome, const Request& request) {
    if (scope.rank() == 0) Complain(outcome, request.operation, 0, request.piece.peer);
    return outcome;
  }

  // kFailed when there are failures that were not told yet.
  DD_HOST_DEVICE Outcome Failures() {
    const std::uint32_t failures = lane_.failures();
    if (failures == reported_) return Outcome::kOk;
    reported_ = failures;
    return Outcome::kFailed;
  }

  DD_HOST_DEVICE DD_HOT void Fill(std::uint32_t ticket, const Request& request) {
    using fabric::efa_queue::Operation;
    const Piece& piece = request.piece;
    const Window& window = view_.windows[piece.peer];
    const PeerView& peer = view_.peers[queue_][piece.peer];
    fabric::efa_queue::SendWork work;
    work.operation =
        request.operation == PortOperation::kGet ? Operation::kRead : Operation::kWrite;
    work.address_handle = peer.address_handle;
    work.destination_queue_pair = peer.queue_pair;
    work.qkey = peer.qkey;
    work.segment_count = 1;
    work.segments[0] = {piece.bytes, view_.lkey, view_.windows[view_.rank].address + piece.local};
    work.remote = {piece.bytes, window.rkey, window.address + piece.remote};
    if (request.operation == PortOperation::kPutSignal ||
        request.operation == PortOperation::kSignal) {
      // The number after the ticket: no operation with a later ticket can be announced before.
      const std::uint32_t sequence = FetchAddFenced(&view_.state->sequences[queue_][piece.peer], 1);
      work.has_immediate = true;
      work.immediate = SignalImmediate{view_.epoch, view_.rank, request.signal, sequence}.Encode();
    }
    lane_.Fill(ticket, work, {request.operation, piece.peer});
  }

  // Takes what has come to all queues.
  DD_HOST_DEVICE Outcome PollArrivals() const {
    // What lies in a ring that was overrun is of some lap.
    if (LoadWord32(&view_.state->overrun) != 0) return Outcome::kBroken;
    for (std::uint32_t i = 0; i < view_.queues; ++i) {
      // Our own first: peers answer on the queue that they were written to.
      const std::uint32_t queue = (queue_ + i) % view_.queues;
      std::uint32_t* const lock = &view_.state->arriving[queue];
      if (!TryLockOnDevice(lock)) continue;
      const Outcome outcome = PollQueue(view_, queue);
      UnlockOnDevice(lock);
      if (outcome != Outcome::kOk) return outcome;
    }
    return Outcome::kOk;
  }
  DD_HOST_DEVICE GDA_APART static Outcome PollQueue(const PortView& view, std::uint32_t queue) {
    const DoneRing& ring = view.lanes[queue].queue.receive_done;
    std::uint32_t* const consumed = &view.state->arrivals[queue];
    const ReceiveEntries entries = LookAtReceived(ring, *consumed);
    if (entries.count != 0) DeviceFence();  // before the counts, which other threads look at
    for (std::uint32_t i = 0; i < entries.count; ++i) {
      ++*consumed;
      if (!Count(view, queue, entries.entries[i])) return Outcome::kFailed;
    }
    if (!entries.overrun) return Outcome::kOk;
    StoreFencedWord(&view.state->overrun, 1);
    Record(view, queue, {Outcome::kBroken, PortOperation::kArrival, 0, 0, kNoPeer});
    return Outcome::kBroken;
  }
  // False: it is an error, which was recorded.
  DD_HOST_DEVICE static bool Count(const PortView& view, std::uint32_t queue,
                                   const ReceiveEntry& entry) {
    PortState& state = *view.state;
    if (entry.status != 0 || !entry.has_immediate) {
      Record(view, queue, {Outcome::kFailed, PortOperation::kArrival, entry.status, 0, kNoPeer});
      return false;
    }
    const auto immediate = SignalImmediate::Decode(entry.immediate);
    if (immediate.epoch != view.epoch || immediate.source >= view.ranks) {
      FetchAdd(&state.stale, 1);
    } else if (!NoteArrival(state.windows[queue][immediate.source], immediate.sequence)) {
      FetchAdd(&state.duplicates, 1);
    } else {
      FetchAddFenced(&state.counts[immediate.source][immediate.signal], 1);
    }
    return true;
  }

  DD_HOST_DEVICE void Complain(Outcome outcome, PortOperation operation, std::uint8_t status,
                               std::uint32_t peer) const {
    Record(view_, queue_, {outcome, operation, status, 0, peer});
  }
  // The first one of a port is kept.
  DD_HOST_DEVICE GDA_APART static void Record(const PortView& view, std::uint32_t queue,
                                              PortError error) {
    if (!TryLock(&view.state->error_taken)) return;
    error.queue = static_cast<std::uint16_t>(queue);
    *view.error = error;
  }

  const PortView& view_;
  const std::uint32_t queue_;
  Lane<kSharing> lane_;
  std::uint32_t reported_;  // failures that were told
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_PORT_H_
