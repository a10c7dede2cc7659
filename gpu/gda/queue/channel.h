// One interface for the three ways in which a device gets a NIC to work:
//
//   kMappedBell   the device fills the NIC's ring and rings the NIC's doorbell
//   kBellRecord   the device fills the NIC's ring and writes the counter to memory; a thread of the
//                 host rings (../bell_ringer.h)
//   kProxy        a thread of the host does it all (../proxy_server.h)
//
// The first two differ only in where QueueView::send.bell points.

#ifndef DRYDOCK_GPU_GDA_QUEUE_CHANNEL_H_
#define DRYDOCK_GPU_GDA_QUEUE_CHANNEL_H_

#include <cstdint>
#include <type_traits>

#include "drydock/gpu/gda/queue/device_queue.h"
#include "drydock/gpu/gda/queue/proxy_ring.h"
#include "drydock/gpu/gda/queue/transfer.h"

namespace drydock::gpu::gda {

enum class RingMode : std::uint8_t { kMappedBell, kBellRecord, kProxy };

// "mapped", "record", "proxy". Static storage.
inline const char* RingModeName(RingMode mode) {
  return mode == RingMode::kMappedBell   ? "mapped"
         : mode == RingMode::kBellRecord ? "record"
                                         : "proxy";
}

// What a kernel is given.
struct ChannelView {
  RingMode mode = RingMode::kMappedBell;
  // Unless kProxy:
  QueueView queue;
  QueueState* queue_state = nullptr;
  PeerView peer;
  // With kProxy:
  ProxyView proxy;
  ProxyState* proxy_state = nullptr;
};
static_assert(std::is_trivially_copyable_v<ChannelView>);

// Why something did not happen, or not well.
enum class Outcome : std::uint8_t {
  kOk,
  kFailed,    // a transfer failed: see status()
  kTimedOut,  // nothing came for as long as was given
  kBroken,    // the completion ring holds what cannot be, or was overrun
  kTooMany,   // more at once than the queue takes, ever
};

// "ok", "failed", ... Static storage.
inline const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return "ok";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kTimedOut:
      return "timed out";
    case Outcome::kBroken:
      return "broken";
    case Outcome::kTooMany:
      return "too many";
  }
  return "unknown";
}

// The device's side, by one thread. Which way it goes is a constant, so that a GPU's thread keeps
// all of it in registers: WithChannel chooses.
template <bool kProxied>
class Channel {
 public:
  // `timeout_ns`: how long each wait may be; 0: for ever. REQUIRES: kProxied says what view.mode
  // does.
  DD_HOST_DEVICE Channel(const ChannelView& view, std::uint64_t timeout_ns)
      : peer_(view.peer), timeout_ns_(timeout_ns), way_(Open(view)) {
    if constexpr (kProxied) failures_before_ = way_.Failures(status_);
    status_ = 0;
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  // What the next kernel has to know.
  DD_HOST_DEVICE void Save() const { way_.Save(); }

  // Non-blocking put: returns when there was room for it. It is on its way at the latest when
  // Flush, Quiet or Put return.
  DD_HOST_DEVICE DD_HOT Outcome Start(const Transfer& transfer) {
    return Start(Prepare(transfer), 0);
  }
  // The same for many that differ in their addresses: number by number of bytes from those of the
  // first, on both sides.
  using Prepared = std::conditional_t<kProxied, Transfer, fabric::efa_queue::PreparedSend>;
  DD_HOST_DEVICE DD_HOT Prepared Prepare(const Transfer& first) const {
    if constexpr (kProxied) {
      return first;
    } else {
      return way_.Prepare(WorkOf(first, peer_, 0));
    }
  }
  DD_HOST_DEVICE DD_HOT Outcome Start(const Prepared& prepared, std::uint64_t offset) {
    Patience patience(timeout_ns_);
    for (;;) {
      const PostResult result = TryStart(prepared, offset);
      if (result == PostResult::kOk) return Outcome::kOk;
      if (result == PostResult::kTooMany) return Outcome::kTooMany;
      if (result == PostResult::kFull) Flush();  // or nothing would ever complete
      const Outcome polled = Poll();
      if (polled != Outcome::kOk && polled != Outcome::kTimedOut) return polled;
      if (patience.Over()) return Outcome::kTimedOut;
    }
  }
  // What was started is announced.
  DD_HOST_DEVICE DD_HOT void Flush() {
    if constexpr (!kProxied) way_.Ring();
  }
  // Waits until everything that was started has completed. kFailed when any of it did, since the
  // last time.
  DD_HOST_DEVICE DD_HOT Outcome Quiet() {
    Flush();
    if constexpr (!kProxied) way_.AwaitOnly();  // most often a put that blocks
    Patience patience(timeout_ns_);
    while (!IsQuiet()) {
      const Outcome polled = Poll();
      if (polled != Outcome::kOk && polled != Outcome::kTimedOut) return polled;
      if (polled == Outcome::kTimedOut && patience.Over()) return Outcome::kTimedOut;
    }
    if constexpr (kProxied) CollectProxied();
    return failures_ == reported_ ? Outcome::kOk : Report();
  }
  // Blocking put.
  DD_HOST_DEVICE DD_HOT Outcome Put(const Transfer& transfer) {
    const Outcome started = Start(transfer);
    return started == Outcome::kOk ? Quiet() : started;
  }

  // Transfers that have failed, and EFA's status of the last of them (0: none).
  DD_HOST_DEVICE std::uint32_t failures() const { return failures_; }
  DD_HOST_DEVICE std::uint32_t status() const { return status_; }

 private:
  using Way = std::conditional_t<kProxied, ProxyClient, DeviceQueue<>>;

  DD_HOST_DEVICE static Way Open(const ChannelView& view) {
    if constexpr (kProxied) {
      return Way(view.proxy, view.proxy_state);
    } else {
      return Way(view.queue, view.queue_state);
    }
  }
  DD_HOST_DEVICE DD_HOT bool IsQuiet() const {
    if constexpr (kProxied) {
      return way_.IsQuiet();
    } else {
      return way_.in_flight() == 0;
    }
  }
  DD_HOST_DEVICE DD_HOT PostResult TryStart(const Prepared& prepared, std::uint64_t offset) {
    if constexpr (kProxied) {
      Transfer transfer = prepared;
      transfer.local += offset;
      transfer.remote += offset;
      std::uint64_t number = 0;
      return way_.Submit(transfer, number) ? PostResult::kOk : PostResult::kFull;
    } else {
      return way_.Post(prepared, offset);
    }
  }
  // kTimedOut: nothing was there.
  DD_HOST_DEVICE DD_HOT Outcome Poll() {
    if constexpr (kProxied) {
      return Outcome::kTimedOut;
    } else {
      DeviceQueue<>::Tally tally;
      const PollResult result = way_.PollSome(tally);
      failures_ += tally.failed;
      if (tally.failed != 0) status_ = tally.status;
      if (result == PollResult::kEmpty) return Outcome::kTimedOut;
      return result == PollResult::kOk ? Outcome::kOk : Outcome::kBroken;
    }
  }
  DD_HOST_DEVICE void CollectProxied() {
    std::uint32_t status = 0;
    failures_ = way_.Failures(status) - failures_before_;
    if (failures_ != 0) status_ = status;
  }
  DD_HOST_DEVICE Outcome Report() {
    reported_ = failures_;
    return Outcome::kFailed;
  }

  const PeerView peer_;
  const std::uint64_t timeout_ns_;
  Way way_;
  std::uint32_t failures_before_ = 0;  // of other users of the proxy
  std::uint32_t failures_ = 0;
  std::uint32_t reported_ = 0;
  std::uint32_t status_ = 0;
};

// Calls `use` with the channel for this view.
template <typename Use>
DD_HOST_DEVICE void WithChannel(const ChannelView& view, std::uint64_t timeout_ns, const Use& use) {
  if (view.mode == RingMode::kProxy) {
    Channel<true> channel(view, timeout_ns);
    use(channel);
  } else {
    Channel<false> channel(view, timeout_ns);
    use(channel);
  }
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_QUEUE_CHANNEL_H_
