#include "drydock/sim/checks/conservation.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace drydock::sim {

using State = WatchedRequest::State;

void Conservation::SlotInUse(const WatchedQueue& queue, std::uint16_t id) {
  if (queue.raw) return;
  log_.Add(Check::kConservation, queue.where, queue.number, [&] {
    return absl::StrCat("request ", id, " of queue pair ", queue.number,
                        " was accepted into the place of one that is in flight");
  });
}

void Conservation::Reported(WatchedQueue& queue, bool receive, std::uint16_t id) {
  if (queue.raw) return;
  WatchedRequest* request = queue.Find(receive, id);
  if (request != nullptr && request->state != State::kReported) {
    request->state = State::kReported;
    return;
  }
  log_.Add(Check::kConservation, queue.where, queue.number, [&] {
    return absl::StrCat("the device reported a ", receive ? "receive" : "request",
                        " of queue pair ", queue.number,
                        request == nullptr ? " that is not in flight" : " a second time");
  });
}

WatchedRequest* Conservation::Read(WatchedQueue& queue, bool receive, std::uint16_t id) {
  if (queue.raw) return nullptr;
  WatchedRequest* request = queue.Find(receive, id);
  if (request == nullptr || request->state != State::kReported) {
    log_.Add(Check::kConservation, queue.where, queue.number, [&] {
      return absl::StrCat("a completion of queue pair ", queue.number,
                          " was read that the device had not reported");
    });
  }
  if (request != nullptr) request->state = State::kFree;
  return request;
}

void Conservation::Audit(const WatchedQueue& queue, WatchedRequest& request, State waits) {
  const bool under_way = std::exchange(request.under_way, false);
  if (queue.raw || queue.dead || under_way || request.state != waits) return;
  log_.Add(Check::kConservation, queue.where, queue.number, [&] {
    return absl::StrCat("a ", std::string(fabric::Name(request.kind)), " of queue pair ",
                        queue.number,
                        " has not completed, and nothing is under way that would complete it");
  });
}

void Conservation::Audit(WatchedQueue& queue) {
  queue.sends.ForEach([&](WatchedRequest& request) { Audit(queue, request, State::kPosted); });
  queue.receives.ForEach([&](WatchedRequest& request) { Audit(queue, request, State::kTaken); });
}

}  // namespace drydock::sim
