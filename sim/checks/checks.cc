#include "drydock/sim/checks/checks.h"

#include <cstddef>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/sim/checks/waits.h"

namespace drydock::sim {

// This one comes first: it asks about an endpoint that closes before the others forget it.
void Checks::AddTo(Observers& observers) {
  observers.Add(*this);
  observers.Add(memory_);
  observers.Add(endpoints_);
  observers.Add(queues_);
  observers.Add(leaks_);
}

// ---- At the end ----

// Requests of the queue pair that the device still has are under way; the others should have ended.
// Only a fault plan knows those that it has put off.
void Checks::Audit(const EndpointWatch& endpoint) {
  if (deferred_.empty()) memory_.Audit(endpoint.queue_pair(), endpoint.unrung(), operations_);
}

void Checks::OnEndpointClosing(const QueuePair& queue_pair) {
  if (const EndpointWatch* endpoint = endpoints_.Find(queue_pair)) Audit(*endpoint);
}

void Checks::CheckRequests() {
  for (const auto& endpoint : endpoints_.watches()) Audit(*endpoint);
}

void Checks::CheckEnd() {
  CheckRequests();
  for (const auto& endpoint : endpoints_.watches()) endpoint->AtEnd();
  leaks_.AtEnd();
}

// ---- Programs that wait, or that never return ----

void Checks::Stuck() {
  for (const auto& endpoint : endpoints_.watches()) endpoint->Stuck();
}

void Checks::OnAgain(const NicState& /*nic*/, const QueuePair& queue_pair, const Posted& posted) {
  EndpointWatch* endpoint = endpoints_.Find(queue_pair);
  if (endpoint == nullptr) return;
  const bool for_ever =
      endpoint->Refused(posted, queues_.ReadsOf(*queue_pair.send_ring), timeline_.waited());
  if (for_ever && !timeline_.real() && !rules_.real_time) NeverReturns(EndlessLoop::kPosts);
}

void Checks::OnPolledInVain(const CompletionRing* ring) {
  if (timeline_.real()) return;
  const std::size_t queue = ring == nullptr ? 0 : ring->serial();
  if (!progress_.InVain(queue, timeline_.news() + endpoints_.posts())) return;
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

WaitGraph Checks::DescribeWaits() const {
  return sim::DescribeWaits(endpoints_.watches(), operations_);
}

}  // namespace drydock::sim
