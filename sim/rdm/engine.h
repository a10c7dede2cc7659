// The protocol of one endpoint: it owns the device's endpoint and queue below, and passes each of
// the device's reports to the part that handles it.
//
//   program ── posts ──► Initiator ─┐                         ┌─► PacketSender ──► device
//                                   ├─► OperationTable ───────┤
//   peers ── packets ──► Target ────┘   (one object for each) └─► device writes, reads
//
// All of this moves only while a completion queue of the endpoint is read, and during posts.

#ifndef DRYDOCK_SIM_RDM_ENGINE_H_
#define DRYDOCK_SIM_RDM_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/domain.h"
#include "drydock/fabric/limits.h"
#include "drydock/sim/rdm/address_book.h"
#include "drydock/sim/rdm/alarm.h"
#include "drydock/sim/rdm/completion_sink.h"
#include "drydock/sim/rdm/counters.h"
#include "drydock/sim/rdm/initiator.h"
#include "drydock/sim/rdm/memory_registry.h"
#include "drydock/sim/rdm/operation_table.h"
#include "drydock/sim/rdm/packet_receiver.h"
#include "drydock/sim/rdm/packet_sender.h"
#include "drydock/sim/rdm/peer_table.h"
#include "drydock/sim/rdm/receive_queue.h"
#include "drydock/sim/rdm/reporter.h"
#include "drydock/sim/rdm/services.h"
#include "drydock/sim/rdm/settings.h"
#include "drydock/sim/rdm/statistics.h"
#include "drydock/sim/rdm/target.h"

namespace drydock::sim::rdm {

// The objects that an engine works with. All but the device's own outlive it.
struct EngineOptions {
  const Settings& settings;
  Alarm& alarm;
  fabric::Domain& device;
  MemoryRegistry& memory;
  CompletionSink& sends;
  CompletionSink& receives;
  std::shared_ptr<AddressBook> book;
  const fabric::Limits& limits;  // of our own endpoint
  std::uint64_t owner = 0;       // our name in the sinks
  std::size_t queue_depth = 0;   // at least this for the device's queue
  // How often the device retries; absent: as the settings say.
  std::optional<std::uint32_t> retries;
  Counters counters;
};

// Not thread-safe.
class Engine final : public ProgressSource {
 public:
  // Errors are the device's.
  static absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineOptions& options);
  // Closes the device's endpoint, so that nothing lands any more, and forgets everything.
  ~Engine() override;

  // The program closes the endpoint: it is told nothing any more, and its memory is left alone.
  // True when peers wait for operations that end here: they are told while this makes progress,
  // until HasLeft. Otherwise there is nothing left to do.
  [[nodiscard]] bool Leave();

  Initiator& initiator() { return initiator_; }
  Target& target() { return target_; }
  const ReceiveQueue& receives() const { return receives_; }
  // As Target::PostReceive; also for a message that had no room.
  void PostReceive(const PostedReceive& receive);
  AddressBook& book() { return peers_.book(); }
  const Statistics& statistics() const { return statistics_; }
  fabric::Address address() const { return device_->address(); }

  // Rings the device for what was posted.
  void Flush() { packets_.Flush(); }

  fabric::ErrorCode MakeProgress() override;
  void FreeSlots() override { reporter_.FreeSlots(); }
  bool HasLeft() const override {
    return leaving_ && (packets_.idle() || alarm_.Now() >= leaves_until_);
  }
  std::string DeviceErrorText(const fabric::Completion& completion) override {
    return device_queue_->ErrorText(completion);
  }

 private:
  // The objects that Open has opened.
  struct Parts {
    std::unique_ptr<fabric::CompletionQueue> queue;
    std::unique_ptr<fabric::Endpoint> endpoint;
    PacketPool send_pool;
    PacketPool receive_pool;
  };
  Engine(const EngineOptions& options, Parts parts);

  fabric::ErrorCode PollDevice();
  void OnCompletion(const fabric::Completion& completion);
  void OnReceived(std::uint32_t index, const fabric::Completion& completion);
  void Refill();
  void OnRemoteWrite(const fabric::Completion& completion);
  void OnSent(const SentPacket& sent);
  void OnTransferred(OperationId id, const fabric::Completion& completion);

  // The sender of a packet for which there is no room now; null: the packet was taken, or dropped.
  Peer* OnPacket(std::span<const std::byte> bytes, fabric::Peer device_source);
  // Leaves the program's queues and counters.
  void Detach();
  // A request of a peer that will not be served any more.
  void Decline(Peer& peer, const PacketHeader& request);
  // The peer's operation waits for one of ours that has gone.
  void TellGone(Peer& peer, OperationId operation);
  // Packets for which there was no room, once that may have changed.
  void RetryStalled();
  // The sender; null when no field names one credibly.
  Peer* Identify(const PacketHeader& header, fabric::Peer device_source);
  void OnAnswer(Peer& peer, const Packet& packet);
  void OnHandshake(Peer& peer, const PacketHeader& header);
  void ShakeHands(Peer& peer);
  void OnPeerGone(Peer& peer, const Outcome& outcome);
  // Our own device has given up its queue pair: nothing will come any more.
  void OnDeviceLost();
  // The device's queue was found empty.
  void OnQueueEmpty();

  // A packet that keeps its receive until there is room for it.
  struct Stalled {
    std::uint32_t index;
    std::uint64_t length_bytes;
    Peer* peer;
  };

  Statistics statistics_;
  Alarm& alarm_;
  std::vector<CompletionSink*> sinks_;  // of the program, sends first; empty when it has left
  MemoryRegistry& memory_;
  const std::uint64_t owner_;
  std::uint64_t seen_removals_;
  std::vector<Stalled> stalled_;  // in the order in which they came
  std::uint64_t seen_changes_ = 0;
  bool device_lost_ = false;
  bool leaving_ = false;
  coro::Time leaves_until_{};
  std::uint64_t told_ = 0;  // operations of peers that were told that ours had gone
  // The device names senders as it knew them when their packets came. Addresses with numbers below
  // `settled_` were known before anything that is still in its queue; those below `staged_` since
  // `staged_at_`.
  std::uint64_t settled_ = 0;
  std::uint64_t staged_ = 0;
  coro::Time staged_at_{};
  std::unique_ptr<fabric::CompletionQueue> device_queue_;
  PeerTable peers_;
  std::unique_ptr<fabric::Endpoint> device_;
  PacketSender packets_;
  PacketReceiver receiver_;
  Reporter reporter_;
  const Services services_;
  OperationTable operations_;
  ReceiveQueue receives_;
  Target target_;
  Initiator initiator_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_ENGINE_H_
