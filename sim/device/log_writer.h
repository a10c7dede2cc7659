// Writes the events of devices and programs into the event log (sim/events/event_log.h).

#ifndef DRYDOCK_SIM_DEVICE_LOG_WRITER_H_
#define DRYDOCK_SIM_DEVICE_LOG_WRITER_H_

#include <cstddef>
#include <cstdint>

#include "drydock/sim/device/observer.h"
#include "drydock/sim/events/event_log.h"
#include "drydock/sim/events/world_clock.h"

namespace drydock::sim {

// Not thread-safe. Its constructor's arguments outlive it.
class LogWriter final : public Observer {
 public:
  LogWriter(const WorldClock& clock, EventLog& log) : clock_(clock), log_(log) {}

  void OnFetched(const NicState& nic, const QueuePair& /*queue_pair*/, const Operation& operation,
                 EfaStatus status) override {
    log_.Append({.time = clock_.elapsed(),
                 .kind = EventKind::kFetch,
                 .branch = static_cast<std::uint8_t>(status),
                 .actor = nic.index(),
                 .operation = operation.id.Pack(),
                 .bytes = operation.length});
  }
  void OnSent(const NicState& nic, const Operation& operation, std::uint32_t packet,
              bool /*response*/, std::uint64_t bytes, const Flight& flight) override {
    log_.Append({.time = clock_.elapsed(),
                 .kind = EventKind::kSend,
                 .branch = static_cast<std::uint8_t>((flight.arrives ? 1 : 0) |
                                                     (flight.retransmissions > 0 ? 2 : 0) |
                                                     (flight.twice ? 4 : 0)),
                 .actor = nic.index(),
                 .packet = packet,
                 .operation = operation.id.Pack(),
                 .bytes = bytes});
  }
  void OnPlaced(const BytesPlaced& bytes) override {
    log_.Append({.time = clock_.elapsed(),
                 .kind = EventKind::kPlace,
                 .branch = bytes.rest_comes,
                 .actor = bytes.nic.index(),
                 .packet = bytes.packet,
                 .operation = bytes.id.Pack(),
                 .bytes = bytes.cut_bytes});
  }
  void OnReported(const NicState& nic, const CompletionRing& /*ring*/,
                  const DeviceCompletion& completion, EntryFate fate) override {
    if (fate == EntryFate::kWithheld) return;
    log_.Append({.time = clock_.elapsed(),
                 .kind = EventKind::kComplete,
                 .branch = completion.status,
                 .actor = nic.index(),
                 .packet = completion.immediate,
                 .operation = std::uint64_t{completion.queue_pair} << 16 | completion.request_id,
                 .bytes = completion.length_bytes});
  }
  void OnPolled(const NicState& nic, const CompletionRing& ring, std::size_t count) override {
    log_.Append({.time = clock_.elapsed(),
                 .kind = EventKind::kRead,
                 .actor = nic.index(),
                 .operation = ring.number(),
                 .bytes = count});
  }

 private:
  const WorldClock& clock_;
  EventLog& log_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_LOG_WRITER_H_
