// What a kernel is given of a port: its queues, its peers, and memory that all ranks can write.
// Plain values, small enough for a kernel's arguments.
//
//   rank r ── queue q ──────► queue q of every other rank: its own address handle and number each
//          ── window ───────► registered once; offsets in it are what puts and gets name
//          ── PortState ────► what came, and how far everybody is: memory of the device
//          ── PortError ────► the first failure, in memory of the host

#ifndef DRYDOCK_GPU_GDA_DEVICE_VIEWS_H_
#define DRYDOCK_GPU_GDA_DEVICE_VIEWS_H_

#include <cstdint>
#include <type_traits>

#include "drydock/gpu/gda/queue/channel.h"
#include "drydock/gpu/gda/queue/queue.h"

namespace drydock::gpu::gda {

inline constexpr std::uint32_t kMaxRanks = 16;
inline constexpr std::uint32_t kMaxQueues = 8;
// Signals have numbers below this; each source has counts of its own.
inline constexpr std::uint32_t kSignals = 128;

// How far a queue is. In memory of the device, zero at first.
struct LaneState {
  std::uint32_t tickets = 0;    // ever taken
  std::uint32_t turn = 0;       // of them, filled and handed over, in order
  std::uint32_t rung = 0;       // of these, announced
  std::uint32_t completed = 0;  // of these
  std::uint32_t consumed = 0;   // entries of the completion ring; more where stale ones came
  std::uint32_t oldest = 0;     // all tickets before it have completed; exclusive
  std::uint32_t failures = 0;
  std::uint32_t stale = 0;    // completions of another epoch: dropped
  std::uint32_t broken = 0;   // an Outcome: everybody gives up
  std::uint32_t ringing = 0;  // locks
  std::uint32_t polling = 0;
};

// One queue.
struct LaneView {
  QueueView queue;
  LaneState* state = nullptr;
  // Of each slot of the send ring: laps of it that have completed, and what its entry is (Note).
  std::uint32_t* laps = nullptr;
  std::uint32_t* notes = nullptr;
};

enum class PortOperation : std::uint8_t { kNone, kPut, kPutSignal, kSignal, kGet, kArrival, kWait };

// "put", "put with signal", "signal", "get", "arrival", "wait"; "nothing". Static storage.
inline const char* PortOperationName(PortOperation operation) {
  switch (operation) {
    case PortOperation::kPut:
      return "put";
    case PortOperation::kPutSignal:
      return "put with signal";
    case PortOperation::kSignal:
      return "signal";
    case PortOperation::kGet:
      return "get";
    case PortOperation::kArrival:
      return "arrival";
    case PortOperation::kWait:
      return "wait";
    case PortOperation::kNone:
      break;
  }
  return "nothing";
}

inline constexpr std::uint32_t kNoPeer = 0xFFFF;

// The first thing that went wrong on a port. In memory that the host sees.
struct PortError {
  Outcome outcome = Outcome::kOk;
  PortOperation operation = PortOperation::kNone;
  std::uint8_t status = 0;  // EFA's; 0: it is no completion that failed
  std::uint16_t queue = 0;
  std::uint32_t peer = kNoPeer;  // kNoPeer: not known
};

// What has arrived from one source on one queue: which of the sequence numbers of immediates.
// `next` is the highest one and one; bit i % kWindow is i's, of the kWindow numbers below `next`.
struct ArrivalWindow {
  static constexpr std::uint32_t kWindow = 8192;  // half the numbers that an immediate can tell
  std::uint32_t next = 0;
  std::uint32_t bits[kWindow / 32] = {};
};

// In memory of the device, zero at first.
struct PortState {
  std::uint32_t counts[kMaxRanks][kSignals] = {};  // of signals that have arrived, by source
  ArrivalWindow windows[kMaxQueues][kMaxRanks] = {};
  std::uint32_t sequences[kMaxQueues][kMaxRanks] = {};  // of signals that were sent, by target
  std::uint32_t rounds[kSignals] = {};                  // of barriers, by signal
  std::uint32_t arrivals[kMaxQueues] = {};              // entries consumed of each receive ring
  std::uint32_t arriving[kMaxQueues] = {};              // locks
  std::uint32_t duplicates = 0;                         // arrivals that had arrived: dropped
  std::uint32_t stale = 0;                              // arrivals of another epoch: dropped
  std::uint32_t overrun = 0;                            // 1: a receive ring was, signals are lost
  std::uint32_t error_taken = 0;                        // a lock that is never given back
};

// Memory of one rank that others may read and write.
struct Window {
  std::uint64_t address = 0;  // as NICs are told of it
  std::uint32_t rkey = 0;
};

struct PortView {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t queues = 0;
  std::uint32_t epoch = 0;  // of this connection, below 16: see immediate.h
  std::uint32_t lkey = 0;
  std::uint64_t timeout_ns = 0;    // of every wait; 0: for ever
  unsigned char* local = nullptr;  // our window, as kernels see it
  std::uint64_t window_bytes = 0;  // without the last kFlushBytes, which MakeVisible uses
  PortState* state = nullptr;
  PortError* error = nullptr;
  Window windows[kMaxRanks];
  LaneView lanes[kMaxQueues];
  PeerView peers[kMaxQueues][kMaxRanks];
};
static_assert(std::is_trivially_copyable_v<PortView>);
static_assert(sizeof(PortView) <= 3584, "4096 bytes are all that a kernel's arguments may be");

// At the end of a window, beyond window_bytes.
inline constexpr std::uint64_t kFlushBytes = 64;

// Of a send ring that a port drives.
inline constexpr std::uint32_t kMaxLaneEntries = 4096;

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_VIEWS_H_
