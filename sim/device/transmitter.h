// From a NIC's engine to its link: which packet leaves next, and when.
//
//   requester: work requests ─┐
//                             ├─► jobs, served at random ──► link ──► wire ──► peer's NIC
//   responder: data of reads ─┘

#ifndef DRYDOCK_SIM_DEVICE_TRANSMITTER_H_
#define DRYDOCK_SIM_DEVICE_TRANSMITTER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/operation.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/network/wire.h"
#include "drydock/sim/random.h"

namespace drydock::sim {

// Of one NIC. Not thread-safe. Its constructor's arguments outlive it.
class Transmitter {
 public:
  Transmitter(NicState& nic, Surroundings& around, const RandomStream& choices)
      : nic_(nic), around_(around), choices_(choices) {}

  // Whether the engine takes another work request of our own.
  bool has_room() const { return requests_ < nic_.profile.engine_window; }

  // The packets of a work request of ours; of the data that a peer reads.
  void EnqueueRequest(OperationId operation);
  void EnqueueResponse(OperationId operation);

  // Where packets take no time, most operations of one packet need not wait for their turn: those
  // for which this is true leave by SendAtOnce, and overtake those that wait. Draws.
  bool LeavesAtOnce(const Operation& operation) {
    return nic_.profile.instant && operation.packets == 1 && around_.paused_until.empty() &&
           !around_.timeline.scheduled() && choices_.NextBelow(kWaitsOneIn) != 0;
  }
  // The one packet of a work request, or (`response`) of the data that a peer reads. The operation
  // may have come to its end, and left the table, when this returns.
  void SendAtOnce(Operation& operation, bool response);

  // Asks for EventKind::kTransmit when the next packet can leave, if there is one.
  void Schedule();
  // The answer to that begins.
  void Begin() { scheduled_ = false; }
  // A work request of ours whose packets have all left.
  struct Served {
    std::uint32_t source;    // Operation::source
    std::uint64_t sequence;  // Operation::sequence
  };
  // Sends one packet of one of the first few jobs, drawn at random. Returns the work request that
  // this completes, if it does.
  std::optional<Served> SendOne();
  // Whether another packet can leave without waiting.
  bool can_go_on() const { return !jobs_.empty() && nic_.alive() && NextTime() <= now(); }

  // The NIC is dead: peers' reads from it get no answer.
  void Die();

 private:
  // A program that relies on the order of its operations is wrong here as well.
  static constexpr std::uint64_t kWaitsOneIn = 4;

  // A job of the link: the packets of one direction of an operation.
  struct Job {
    OperationId operation;
    bool response;
    bool held = false;      // it has waited for the receiver's link: its next packet leaves
    bool had_turn = false;  // of this round: see ChooseInTurn
  };

  coro::Time now() const { return around_.timeline.now(); }
  // The engine prepares the next work request while the link still carries the last one.
  coro::Time NextTime() const {
    return std::max(engine_free_, nic_.port.link.free() - nic_.profile.issue_cost);
  }
  void Enqueue(const Job& job);
  std::size_t Choose();
  // Of packets drawn one by one each job has had about as many; of pieces, which are few, each has
  // one in a round. In what order the jobs of a round come is drawn.
  std::size_t ChooseInTurn();
  bool IsUndisturbed(const Job& job) const;
  void Remove(std::size_t index);
  // Whether congestion control keeps the next packet here, of so many bytes: the job comes back by
  // itself when it may leave.
  bool HoldBack(const Operation& operation, Job job, std::uint64_t bytes);
  void ComeBack(const Job& job);
  void Silence(const Job& job);
  void TellSent(const Operation& operation, std::uint32_t packet, bool response,
                std::uint64_t bytes, const Flight& flight);
  void SendPacket(Operation& operation, std::uint32_t packet, bool response, Range range);
  // The same for a piece of several packets, one after the other (Profile::flow_packets).
  void SendPiece(Operation& operation, std::uint32_t piece, bool response, Range range);

  NicState& nic_;
  Surroundings& around_;
  RandomStream choices_;
  std::vector<Job> jobs_;       // in order of arrival: those that may be served now
  std::deque<Job> waiting_;     // those behind them
  std::uint32_t requests_ = 0;  // jobs of our own, in both
  bool scheduled_ = false;
  coro::Time engine_free_{};  // to prepare another work request
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_TRANSMITTER_H_
