// The 32 bits that come with a signal, and counting by them.
//
//   31..28 epoch   27..21 source   20..14 signal   13..0 sequence
//
// Why each part is there, on EFA:
//   an immediate is the only thing that the target learns of a write      the signal is in it
//   it comes after every byte of its own write, and before or after those
//   of any other: no count of others may be read from it                  one signal, one count
//   the entry names the sender by queue pair, not by rank                  the source
//   queue pairs' numbers are used again: what was under way to the last
//   one may arrive at the next (linux-rdma/rdma-core PR 1731)              the epoch
//   whatever sends again (a proxy, an adversary) must not count twice      the sequence, of one
//                                                                          source on one queue
//
// A field that overflows becomes another rank's signal (uccl-project/uccl PR 766, 1021): opening a
// port refuses what does not fit.

#ifndef DRYDOCK_GPU_GDA_DEVICE_IMMEDIATE_H_
#define DRYDOCK_GPU_GDA_DEVICE_IMMEDIATE_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/gpu/gda/device/views.h"

namespace drydock::gpu::gda {

struct SignalImmediate {
  static constexpr std::uint32_t kEpochs = 16;
  static constexpr std::uint32_t kSources = 128;
  static constexpr std::uint32_t kSequences = 16384;

  std::uint32_t epoch = 0;
  std::uint32_t source = 0;
  std::uint32_t signal = 0;
  std::uint32_t sequence = 0;  // its low 14 bits

  DD_HOST_DEVICE std::uint32_t Encode() const {
    return (epoch & 0xF) << 28 | (source & 0x7F) << 21 | (signal & 0x7F) << 14 |
           (sequence & (kSequences - 1));
  }
  DD_HOST_DEVICE static SignalImmediate Decode(std::uint32_t immediate) {
    return {immediate >> 28, immediate >> 21 & 0x7F, immediate >> 14 & 0x7F,
            immediate & (kSequences - 1)};
  }
};
static_assert(kMaxRanks <= SignalImmediate::kSources && kSignals == 128);
static_assert(2 * ArrivalWindow::kWindow == SignalImmediate::kSequences);
// Those of one queue that can overtake each other: the entries of its send ring, and as many more
// whose tickets were taken before by threads that number theirs later.
static_assert(2 * kMaxLaneEntries <= ArrivalWindow::kWindow);

// Notes that `sequence` arrived; false: it had. A number may stay out for ever: its write failed.
// After kWindow of them in a row the next ones count as old. By one thread at a time.
DD_HOST_DEVICE inline bool NoteArrival(ArrivalWindow& window, std::uint32_t sequence) {
  constexpr std::uint32_t kWindow = ArrivalWindow::kWindow;
  const auto word = [&window](std::uint32_t at) -> std::uint32_t& {
    return window.bits[at % kWindow / 32];
  };
  const auto bit = [](std::uint32_t at) { return std::uint32_t{1} << at % 32; };
  const std::uint32_t ahead = (sequence - window.next) & (SignalImmediate::kSequences - 1);
  if (ahead < kWindow) {
    // Those between have yet to come: their bits are of numbers a window ago.
    for (const std::uint32_t end = window.next + ahead; window.next != end; ++window.next) {
      word(window.next) &= ~bit(window.next);
    }
    ++window.next;
  } else if ((word(sequence) & bit(sequence)) != 0) {
    return false;
  }
  word(sequence) |= bit(sequence);
  return true;
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_IMMEDIATE_H_
