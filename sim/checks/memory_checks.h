// The checks about requests and the memory that they name: what the driver and the device tell
// them, a line at each place. Each check is in a file of its own.
//
//   driver: Open, Posted..., Read, Close          registrations(), leaks()
//   device: Taken, Reported, Excused, Lands, Ended, Silent, registrations()

#ifndef SIM_CHECKS_MEMORY_CHECKS_H_
#define SIM_CHECKS_MEMORY_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coro/time.h"
#include "fabric/efa_queue/receive_wqe.h"
#include "fabric/efa_queue/wqe.h"
#include "fabric/operation.h"
#include "sim/checks/buffer_race.h"
#include "sim/checks/conservation.h"
#include "sim/checks/destination_guard.h"
#include "sim/checks/finding.h"
#include "sim/checks/finding_log.h"
#include "sim/checks/leaks.h"
#include "sim/checks/registrations.h"
#include "sim/checks/watched_queue.h"
#include "sim/memory_bus.h"

namespace sim {

// Not thread-safe: belongs to its world. Allocates when something is opened, never for a request.
// In live mode nobody tells it anything.
class MemoryChecks {
 public:
  // No NIC of the world.
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  // Adds what it finds to `findings`; both outlive it.
  MemoryChecks(std::vector<Finding>& findings, const MemoryBus& bus)
      : log_(findings), race_(log_, registrations_, queues_, bus), guard_(registrations_, bus) {}

  // Time since the world began.
  void set_clock(std::function<coro::Duration()> clock) { log_.set_clock(std::move(clock)); }

  Registrations& registrations() { return registrations_; }
  Leaks& leaks() { return leaks_; }

  // ---- The driver ----
  // An endpoint with a queue pair of NIC `nic`, whose queues hold so many requests. Valid until
  // Close.
  WatchedQueue* Open(std::uint32_t nic, const std::string& where, std::uint16_t number,
                     std::uint32_t qkey, std::uint16_t domain, std::size_t sends,
                     std::size_t receives);
  // REQUIRES: the device knows none of its requests any more.
  void Close(WatchedQueue* queue);
  // Others write to its rings from now on: its requests are not followed.
  void TakeOver(WatchedQueue& queue);
  // `work` was accepted, and the device was not told yet. `peer`: index of the NIC it goes to, or
  // kNobody.
  void PostedSend(WatchedQueue& queue, const fabric::efa_queue::SendWork& work,
                  fabric::OperationKind kind, std::uint32_t peer);
  void PostedReceive(WatchedQueue& queue, const fabric::efa_queue::ReceiveWork& work) {
    conservation_.Posted(WatchedQueue::Slot(queue.receives, work.request_id), work.request_id,
                         fabric::OperationKind::kReceive);
    guard_.Posted(queue, true, work.request_id, {work.segments, work.segment_count});
  }
  // The program has read the completion of the request with this number.
  void Read(WatchedQueue& queue, bool receive, std::uint16_t id) {
    guard_.Read(queue, receive, id);
    WatchedRequest* request = conservation_.Read(queue, receive, id);
    if (request != nullptr) race_.Forget(*request);
  }

  // ---- The device ----
  // A receive of this number is no longer in its ring.
  void Taken(WatchedQueue& queue, std::uint16_t id) {
    if (WatchedRequest* request = queue.FindReceive(id)) {
      request->state = WatchedRequest::State::kTaken;
    }
  }
  // An entry was written; or it is lost or late, for a reason that is known.
  void Reported(WatchedQueue& queue, bool receive, std::uint16_t id) {
    conservation_.Reported(queue, receive, id);
  }
  void Excused(WatchedQueue& queue, bool receive, std::uint16_t id) {
    WatchedRequest* request = receive ? queue.FindReceive(id) : queue.FindSend(id);
    if (request != nullptr) request->state = WatchedRequest::State::kExcused;
  }
  // As BufferRace.
  void Lands(WatchedRequest& receive, const WatchedPiece& at, const std::byte* bytes) {
    race_.Lands(receive, at, bytes);
  }
  void Ended(WatchedRequest& request, bool well) { race_.Ended(request, well); }
  // Its packets are lost, and nothing of it lands any more.
  void Silent(WatchedRequest& request) { race_.Forget(request); }
  // The NIC's machine died: nobody waits for anything there.
  void Died(std::uint32_t nic);
  // The immediate of a write is about to be reported to `target`; `placed` of its `length` bytes
  // are in memory.
  void Announced(const std::string& target, std::uint16_t queue_pair, std::uint64_t placed,
                 std::uint64_t length);
  // As Conservation.
  void Audit(WatchedQueue& queue) { conservation_.Audit(queue); }

 private:
  void Forget(WatchedQueue& queue);

  FindingLog log_;
  Registrations registrations_{log_};
  Conservation conservation_{log_};
  Leaks leaks_{log_};
  std::vector<std::unique_ptr<WatchedQueue>> queues_;
  BufferRace race_;
  DestinationGuard guard_;
};

}  // namespace sim

#endif  // SIM_CHECKS_MEMORY_CHECKS_H_
