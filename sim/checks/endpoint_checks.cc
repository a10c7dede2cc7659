#include "drydock/sim/checks/endpoint_checks.h"

namespace drydock::sim {

void EndpointChecks::OnEndpointOpened(const EndpointOpened& endpoint) {
  watches_.push_back(std::make_unique<EndpointWatch>(log_, rules_, endpoint));
  const std::uint32_t serial = endpoint.queue_pair.serial;
  if (serial >= by_serial_.size()) by_serial_.resize(serial + 1u);
  by_serial_[serial] = watches_.back().get();
}

void EndpointChecks::OnEndpointClosing(const QueuePair& queue_pair) {
  EndpointWatch* watch = Find(queue_pair);
  if (watch == nullptr) return;
  watch->AtEnd();
  by_serial_[queue_pair.serial] = nullptr;
  std::erase_if(watches_, [watch](const auto& each) { return each.get() == watch; });
}

void EndpointChecks::OnBatchLeft(const QueuePair& queue_pair, std::size_t requests) {
  if (EndpointWatch* watch = Find(queue_pair)) watch->BatchLeft(requests);
}

void EndpointChecks::OnPosted(const QueuePair& queue_pair, const fabric::efa_queue::SendWork& work,
                              const Posted& posted, std::uint32_t /*peer*/) {
  ++posts_;
  if (EndpointWatch* watch = Find(queue_pair)) {
    watch->Accepted(static_cast<std::uint16_t>(work.request_id), posted);
  }
}

void EndpointChecks::OnReceivePosted(const QueuePair& queue_pair,
                                     const fabric::efa_queue::ReceiveWork& work,
                                     const Posted& posted) {
  ++posts_;
  if (EndpointWatch* watch = Find(queue_pair)) watch->AcceptedReceive(work.request_id, posted);
}

void EndpointChecks::OnCompletionRead(const QueuePair& queue_pair, bool receive,
                                      std::uint16_t request_id, std::uint8_t status) {
  EndpointWatch* watch = Find(queue_pair);
  if (watch == nullptr) return;
  if (receive) {
    watch->EndedReceive(request_id);
  } else {
    watch->Ended(request_id, status);
  }
}

void EndpointChecks::OnOwnerGone(fabric::Context context) {
  for (const auto& watch : watches_) watch->OwnerGone(context);
}

}  // namespace drydock::sim
