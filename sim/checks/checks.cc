#include "drydock/sim/checks/checks.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/sim/checks/waits.h"

namespace drydock::sim {

// ---- Requests and memory ----

void Checks::OnReceiveTaken(const NicState& /*nic*/, const QueuePair& queue_pair,
                            const ReceiveWork& receive) {
  memory_.OnReceiveTaken(queue_pair, receive);
}

void Checks::OnMessageLands(const NicState& /*nic*/, const QueuePair& target,
                            const Operation& operation, const ReceiveWork& receive,
                            std::uint64_t prefix) {
  memory_.OnMessageLands(target, operation, receive, prefix);
}

void Checks::OnImmediateDelivered(const NicState& nic, const QueuePair& target,
                                  const Operation& operation) {
  memory_.OnImmediateDelivered(nic, target, operation);
}

void Checks::OnPlacing(const BytesPlaced& bytes) { memory_.OnPlacing(bytes); }

void Checks::OnKeyRefused(const KeyRefused& refused) { memory_.OnKeyRefused(refused); }

void Checks::OnRegistered(const NicState& nic, ProtectionDomain domain,
                          const MemoryTable::Keys& keys, std::uint64_t address,
                          std::uint64_t length_bytes, fabric::Access access) {
  memory_.OnRegistered(nic, domain, keys, address, length_bytes, access);
}

void Checks::OnDeregistered(const NicState& nic, std::uint32_t remote_key) {
  memory_.OnDeregistered(nic, remote_key);
}

void Checks::OnEnded(const Operation& operation) { memory_.OnEnded(operation); }

void Checks::OnSilent(const Operation& operation) { memory_.OnSilent(operation); }

void Checks::OnReported(const NicState& nic, const CompletionRing& ring,
                        const DeviceCompletion& completion, EntryFate fate) {
  if (fate == EntryFate::kNoRoom || fate == EntryFate::kOverwrote) [[unlikely]] {
    log_.Add(Check::kCompletionQueueCapacity, nic.name, ring.number(), [&] {
      return absl::StrCat("completion queue ", ring.number(), " of ", ring.depth(),
                          " entries was full, and ",
                          fate == EntryFate::kNoRoom
                              ? "what completed then is lost"
                              : "its entries were overwritten, so that none is seen for a lap",
                          ": open it for everything that may be in flight, or read it in time");
    });
  }
  memory_.OnReported(nic, completion, fate == EntryFate::kWritten || fate == EntryFate::kOverwrote);
  if (fate == EntryFate::kWithheld) return;
  WatchedRing* watched = Find(ring);
  if (watched == nullptr || ring.mapped()) return;
  if (watched->service.Arrived(timeline_.elapsed(), domain_reads_[watched->domain])) {
    log_.Add(Check::kCompletionQueueService, nic.name, ring.number(), [&] {
      return absl::StrCat("completion queue ", ring.number(), " has had entries for more than ",
                          QueueService::kPatience / std::chrono::seconds(1),
                          " s that nobody read, while the program read other queues: its slots and "
                          "its news wait there");
    });
  }
}

void Checks::OnDied(const NicState& nic) { memory_.OnDied(nic); }

// Requests of the queue pair that the device still has are under way; the others should have ended.
// Only a fault plan knows those that it has put off.
void Checks::Audit(const EndpointWatch& endpoint) {
  if (deferred_.empty()) memory_.Audit(endpoint.queue_pair(), endpoint.unrung(), operations_);
}

void Checks::CheckRequests() {
  for (const auto& endpoint : endpoints_) Audit(*endpoint);
}

void Checks::CheckEnd() {
  CheckRequests();
  for (const auto& endpoint : endpoints_) endpoint->AtEnd();
  leaks_.AtEnd();
}

// ---- Objects ----

void Checks::OnOpened(std::uint32_t object, ObjectKind kind, const NicState& nic) {
  leaks_.Opened(object, kind, nic.index(), nic.name);
}

void Checks::OnClosed(std::uint32_t object, bool busy) {
  if (busy) {
    leaks_.WasBusy(object);
  } else {
    leaks_.Closed(object);
  }
}

void Checks::OnQueueOpened(const CompletionRing& ring, std::uint32_t domain) {
  if (ring.serial() >= rings_.size()) rings_.resize(ring.serial() + 1u);
  if (domain >= domain_reads_.size()) domain_reads_.resize(domain + 1u);
  rings_[ring.serial()].domain = domain;
}

void Checks::OnEndpointOpened(const EndpointOpened& endpoint) {
  memory_.OnEndpointOpened(endpoint);
  endpoints_.push_back(std::make_unique<EndpointWatch>(log_, rules_, endpoint));
  const std::uint32_t serial = endpoint.queue_pair.serial;
  if (serial >= by_serial_.size()) by_serial_.resize(serial + 1u);
  by_serial_[serial] = endpoints_.back().get();
}

void Checks::OnEndpointClosing(const QueuePair& queue_pair) {
  EndpointWatch* endpoint = Find(queue_pair);
  if (endpoint == nullptr) return;
  Audit(*endpoint);
  endpoint->AtEnd();
  by_serial_[queue_pair.serial] = nullptr;
  std::erase_if(endpoints_, [endpoint](const auto& each) { return each.get() == endpoint; });
}

void Checks::OnQueuePairGone(const QueuePair& queue_pair) { memory_.OnQueuePairGone(queue_pair); }

void Checks::OnRingsTaken(const QueuePair& queue_pair) { memory_.OnRingsTaken(queue_pair); }

void Checks::OnBatchLeft(const QueuePair& queue_pair, std::size_t requests) {
  if (EndpointWatch* endpoint = Find(queue_pair)) endpoint->BatchLeft(requests);
}

void Checks::OnHandleClosing(const NicState& nic, std::uint16_t handle) {
  memory_.OnHandleClosing(nic, handle);
}

void Checks::OnQueueClosing(const NicState& nic, const CompletionRing& ring, bool unread,
                            std::uint32_t unacknowledged) {
  const WatchedRing* watched = Find(ring);
  if (unread && watched != nullptr && watched->reads == 0) {
    log_.Add(Check::kUnreadCompletions, nic.name, ring.number(), [&] {
      return absl::StrCat("completion queue ", ring.number(),
                          " had completions, and nobody ever looked into it: what its requests "
                          "came to is not known, and their slots are never free again");
    });
  }
  if (unacknowledged == 0) return;
  log_.Add(Check::kUnacknowledgedEvents, nic.name, ring.number(), [&] {
    return absl::StrCat("completion queue ", ring.number(), " was destroyed with ", unacknowledged,
                        unacknowledged == 1 ? " event" : " events",
                        " that the program took and did not acknowledge: libibverbs waits there "
                        "for ever");
  });
}

void Checks::OnTwoThreads(const NicState& nic, std::uint32_t number, bool queue_pair) {
  log_.Add(Check::kOneThread, nic.name, number, [&] {
    return absl::StrCat("a thread came into ", queue_pair ? "queue pair " : "completion queue ",
                        number,
                        " while another one was in it, though the program has promised to use it "
                        "from one thread at a time: on EFA no lock keeps them apart");
  });
}

// ---- Calls of the program ----

void Checks::OnPosted(const QueuePair& queue_pair, const fabric::efa_queue::SendWork& work,
                      const Posted& posted, std::uint32_t peer) {
  progress_.Posted();
  if (EndpointWatch* endpoint = Find(queue_pair)) {
    endpoint->Accepted(static_cast<std::uint16_t>(work.request_id), posted);
  }
  memory_.OnPosted(queue_pair, work, posted.kind, peer);
}

void Checks::OnReceivePosted(const QueuePair& queue_pair,
                             const fabric::efa_queue::ReceiveWork& work, const Posted& posted) {
  progress_.Posted();
  memory_.OnReceivePosted(queue_pair, work);
  if (EndpointWatch* endpoint = Find(queue_pair)) {
    endpoint->AcceptedReceive(work.request_id, posted);
  }
}

void Checks::OnAgain(const NicState& /*nic*/, const QueuePair& queue_pair, const Posted& posted) {
  EndpointWatch* endpoint = Find(queue_pair);
  if (endpoint == nullptr) return;
  const WatchedRing* ring = Find(*queue_pair.send_ring);
  const bool for_ever =
      endpoint->Refused(posted, ring == nullptr ? 0 : ring->reads, timeline_.waited());
  if (for_ever && !timeline_.real() && !rules_.real_time) NeverReturns(EndlessLoop::kPosts);
}

void Checks::OnCompletionRead(const QueuePair& queue_pair, bool receive, std::uint16_t request_id,
                              std::uint8_t status) {
  memory_.OnCompletionRead(queue_pair, receive, request_id);
  EndpointWatch* endpoint = Find(queue_pair);
  if (endpoint == nullptr) return;
  if (receive) {
    endpoint->EndedReceive(request_id);
  } else {
    endpoint->Ended(request_id, status);
  }
}

void Checks::OnPolling(const CompletionRing& ring) {
  WatchedRing* watched = Find(ring);
  if (watched == nullptr) return;
  ++watched->reads;
  ++domain_reads_[watched->domain];
  watched->service.Read();
}

void Checks::OnPolledInVain(const CompletionRing* ring) {
  if (timeline_.real()) return;
  WatchedRing* const watched = ring == nullptr ? nullptr : Find(*ring);
  Progress::Polls& polls = watched == nullptr ? counter_polls_ : watched->polls;
  if (!progress_.InVain(polls, timeline_.news())) return;
  log_.Add(Check::kProgress, "world", 0, [&] {
    return absl::StrCat("the program has polled ", Progress::kInVain,
                        " times in a row though nothing is under way: ", DescribeWaits().Summary());
  });
  NeverReturns(EndlessLoop::kPolls);
}

void Checks::NeverReturns(EndlessLoop loop) {
  const WaitGraph graph = DescribeWaits();
  if (endless_loop_) return endless_loop_(loop, graph);
  std::cerr << (loop == EndlessLoop::kPolls
                    ? "the program polls for ever, and nothing is under way; "
                    : "the program posts to a full send queue for ever, and does not read; ")
            << graph.ToText();
}

void Checks::Stuck() {
  for (const auto& endpoint : endpoints_) endpoint->Stuck();
}

void Checks::OnOwnerGone(fabric::Context context) {
  for (const auto& endpoint : endpoints_) endpoint->OwnerGone(context);
}

WaitGraph Checks::DescribeWaits() const { return sim::DescribeWaits(endpoints_, operations_); }

}  // namespace drydock::sim
