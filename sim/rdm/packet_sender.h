// Sends packets: takes them from a pool, hands them to the device, and sends those again that the
// device gave up because the peer had no receive left.
//
//   Begin ──► Post ──► ready ──Flush──► device ──► Done (or refused: ready again, then parked)
//             Answer ─► waits for a packet, before all others

#ifndef DRYDOCK_SIM_RDM_PACKET_SENDER_H_
#define DRYDOCK_SIM_RDM_PACKET_SENDER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "drydock/fabric/address.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/sim/rdm/alarm.h"
#include "drydock/sim/rdm/outcome.h"
#include "drydock/sim/rdm/packet.h"
#include "drydock/sim/rdm/packet_pool.h"
#include "drydock/sim/rdm/peer.h"
#include "drydock/sim/rdm/statistics.h"

namespace drydock::sim::rdm {

// The use of a packet, which decides how many of the pool one peer may hold.
enum class PacketUse : std::uint8_t {
  kOwn,     // for a request of our program
  kAnswer,  // because the peer asked: at most a quarter of the pool, so that a peer that asks and
            // never receives does not stop us
};

// A packet to be filled: `payload` is the rest of the MTU behind the header.
struct Draft {
  std::uint32_t index = 0;
  std::span<std::byte> payload;
};

// A packet that will not be sent again.
struct SentPacket {
  OperationId owner = kNoOperation;
  Peer* peer = nullptr;
  Outcome outcome;
};

// Not thread-safe. The device, the alarm, the statistics and the peers outlive it.
class PacketSender {
 public:
  // Answers that wait for one peer take at most `most_answer_bytes`.
  PacketSender(PacketPool pool, fabric::Endpoint& device, Alarm& alarm, Statistics& statistics,
               std::uint64_t most_answer_bytes);

  // True when a packet is free. Answers that wait have been served first: see Tick.
  bool ready() const { return !free_.empty(); }
  // True when `peer` may be sent a packet for this use now.
  bool MaySend(const Peer& peer, PacketUse use) const;
  std::size_t packets() const { return pool_.packets(); }
  std::size_t free() const { return free_.size(); }

  // Takes a packet and writes its header, with the sender's address where the peer may need it.
  // REQUIRES: ready().
  Draft Begin(Peer& peer, PacketHeader header, PacketUse use = PacketUse::kOwn);
  // Sends it with the first `payload_bytes` of its payload. Its end is told with `owner`.
  void Post(const Draft& draft, std::size_t payload_bytes, OperationId owner);
  // Puts it back.
  void Discard(const Draft& draft);

  // A packet's memory for something else: the source of a device write whose bytes were copied.
  // REQUIRES: ready().
  std::uint32_t Borrow();
  fabric::LocalBuffer BorrowedBuffer(std::uint32_t index, std::size_t length) const {
    return pool_.buffer(index, length);
  }
  void GiveBack(std::uint32_t index) { free_.push_back(index); }

  // Sends a packet now, or when one is free. A peer that lets a great many answers wait loses the
  // next.
  void SendAnswer(Peer& peer, const PacketHeader& header, std::span<const std::byte> payload = {},
                  OperationId owner = kNoOperation);

  // True when nothing is on its way or ready to go. Packets that wait for a peer that refuses do
  // not count.
  bool idle() const { return in_device_ == 0 && ready_.empty() && answering_.empty(); }

  // Hands the ready packets to the device.
  void Flush();

  // The device is done with a packet; empty when it will be sent again.
  std::optional<SentPacket> OnCompletion(std::uint32_t index, const fabric::Completion& completion);
  // A packet that the device would not even take.
  std::optional<SentPacket> TakeRefused();

  // Retries packets that have waited long enough, and sends answers that have waited for packets.
  void Tick();

 private:
  struct Slot {
    Peer* peer = nullptr;
    OperationId owner = kNoOperation;
    PacketUse use = PacketUse::kOwn;
    std::size_t header_bytes = 0;
    std::size_t length = 0;
    bool refused_before = false;
  };

  void Release(std::uint32_t index);
  void Refused(std::uint32_t index);
  void PumpAnswers();
  void SendNow(Peer& peer, const PacketHeader& header, std::span<const std::byte> payload,
               OperationId owner);
  // The next batch of `ready_`, less what is for peers in back-off.
  std::size_t CollectBatch();

  PacketPool pool_;
  fabric::Endpoint& device_;
  Alarm& alarm_;
  Statistics& statistics_;
  const fabric::Address own_address_;
  const std::uint64_t most_answer_bytes_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::deque<std::uint32_t> ready_;
  std::size_t in_device_ = 0;       // packets that were handed over
  std::deque<SentPacket> refused_;  // by the device's post, not by the peer
  std::vector<Peer*> backing_off_;  // in the order in which they began
  std::deque<Peer*> answering_;     // peers with answers that wait
  std::vector<fabric::SendRequest> batch_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_PACKET_SENDER_H_
