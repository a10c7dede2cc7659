// The protocol of one endpoint: it owns the device's endpoint and queue below, and takes each thing
// that the device reports to the part that knows what to do.
//
//   program ── posts ──► Initiator ─┐                         ┌─► PacketSender ──► device
//                                   ├─► OperationTable ───────┤
//   peers ── packets ──► Target ────┘   (one object for each) └─► device writes, reads
//
// All of this moves only while a completion queue of the endpoint is read, and during posts.

#ifndef SIM_RDM_ENGINE_H_
#define SIM_RDM_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "fabric/domain.h"
#include "fabric/limits.h"
#include "sim/rdm/address_book.h"
#include "sim/rdm/alarm.h"
#include "sim/rdm/completion_sink.h"
#include "sim/rdm/initiator.h"
#include "sim/rdm/memory_registry.h"
#include "sim/rdm/operation_table.h"
#include "sim/rdm/packet_receiver.h"
#include "sim/rdm/packet_sender.h"
#include "sim/rdm/peer_table.h"
#include "sim/rdm/receive_queue.h"
#include "sim/rdm/reporter.h"
#include "sim/rdm/services.h"
#include "sim/rdm/settings.h"
#include "sim/rdm/statistics.h"
#include "sim/rdm/target.h"

namespace sim::rdm {

// What an engine works with. All but the device's own objects outlive it.
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
};

// Not thread-safe.
class Engine final : public ProgressSource {
 public:
  // Errors are the device's.
  static absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineOptions& options);
  // Closes the device's endpoint, so that nothing lands any more, and forgets everything.
  ~Engine() override;

  Initiator& initiator() { return initiator_; }
  Target& target() { return target_; }
  ReceiveQueue& receives() { return receives_; }
  AddressBook& book() { return peers_.book(); }
  const Statistics& statistics() const { return statistics_; }
  fabric::Address address() const { return device_->address(); }

  // Rings the device for what was posted.
  void Flush() { packets_.Flush(); }

  fabric::ErrorCode MakeProgress() override;
  std::string DeviceErrorText(const fabric::Completion& completion) override {
    return device_queue_->ErrorText(completion);
  }

 private:
  // What Open has opened.
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
  void OnRemoteWrite(const fabric::Completion& completion);
  void OnSent(const SentPacket& sent);
  void OnTransferred(OperationId id, const fabric::Completion& completion);

  void OnPacket(std::span<const std::byte> bytes, fabric::Peer device_source);
  // Who sent it; null when nobody says so credibly.
  Peer* Identify(const PacketHeader& header, fabric::Peer device_source);
  void OnAnswer(Peer& peer, const Packet& packet);
  void OnHandshake(Peer& peer, const PacketHeader& header);
  void ShakeHands(Peer& peer);
  void OnPeerGone(Peer& peer, const Outcome& outcome);

  Statistics statistics_;
  CompletionSink& sends_;
  CompletionSink& receive_sink_;
  MemoryRegistry& memory_;
  const std::uint64_t owner_;
  std::uint64_t seen_removals_;
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

}  // namespace sim::rdm

#endif  // SIM_RDM_ENGINE_H_
