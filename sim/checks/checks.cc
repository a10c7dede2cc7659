#include "sim/checks/checks.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sim {

std::string_view Name(Check check) {
  switch (check) {
    case Check::kCompletionQueueCapacity:
      return "completion-queue-capacity";
    case Check::kAgainWithoutReading:
      return "again-without-reading";
    case Check::kConservation:
      return "conservation";
    case Check::kBounds:
      return "bounds";
    case Check::kBufferRace:
      return "buffer-race";
    case Check::kImmediateVisibility:
      return "immediate-visibility";
    case Check::kUseAfterDeregister:
      return "use-after-deregister";
    case Check::kLeaks:
      return "leaks";
    case Check::kRetryIdempotence:
      return "retry-idempotence";
    case Check::kContextOwnership:
      return "context-ownership";
    case Check::kAwaiterLifetime:
      return "awaiter-lifetime";
    case Check::kCompletionQueueService:
      return "completion-queue-service";
    case Check::kImmediateNamespace:
      return "immediate-namespace";
    case Check::kPeerIncarnation:
      return "peer-incarnation";
    case Check::kProgress:
      return "progress";
    case Check::kOrderIndependence:
      return "order-independence";
  }
  return "unknown";
}

std::string ToText(const Finding& finding) {
  return absl::StrCat(std::string(Name(finding.check)), ": ", finding.where, ": ", finding.what,
                      " (", finding.times, finding.times == 1 ? " time" : " times",
                      ", first after ", finding.first.count(), " ns)");
}

bool Checks::Counts(Check check, const std::string& where, std::uint32_t queue) {
  const auto known = std::find_if(findings_.begin(), findings_.end(), [&](const Finding& finding) {
    return finding.check == check && finding.where == where && finding.queue == queue;
  });
  if (known == findings_.end()) return false;
  ++known->times;
  return true;
}

void Checks::CompletionLost(const std::string& where, std::uint32_t queue, std::size_t depth,
                            coro::Duration now) {
  constexpr Check kCheck = Check::kCompletionQueueCapacity;
  if (Counts(kCheck, where, queue)) return;
  findings_.push_back({kCheck, now, where, queue,
                       absl::StrCat("completion queue ", queue, " of ", depth,
                                    " entries was full, and what completed then is lost: open it "
                                    "for everything that may be in flight, or read it in time")});
}

void Checks::AgainWithoutReading(const std::string& where, std::uint32_t queue_pair,
                                 std::uint64_t times, coro::Duration now) {
  constexpr Check kCheck = Check::kAgainWithoutReading;
  if (Counts(kCheck, where, queue_pair)) return;
  findings_.push_back({kCheck, now, where, queue_pair,
                       absl::StrCat("queue pair ", queue_pair, " was full ", times,
                                    " times in a row, and nobody read its completion queue: "
                                    "reading is what makes room")});
}

void Checks::QueueNotServed(const std::string& where, std::uint32_t queue, coro::Duration now) {
  Found(Check::kCompletionQueueService, where, queue, now, [&] {
    return absl::StrCat("completion queue ", queue, " has had entries for more than ",
                        QueueService::kPatience / std::chrono::seconds(1),
                        " s that nobody read, while the program read other queues: its slots and "
                        "its news wait there");
  });
}

void Checks::PollsInVain(coro::Duration now, const std::string& summary) {
  Found(Check::kProgress, "world", 0, now, [&] {
    return absl::StrCat("the program has polled ", Progress::kInVain,
                        " times in a row though nothing is under way: ", summary);
  });
}

// ---- Endpoints ----

EndpointWatch* Checks::Watch(WatchedEndpoint endpoint) {
  endpoints_.push_back(std::make_unique<EndpointWatch>(*this, std::move(endpoint)));
  return endpoints_.back().get();
}

void Checks::Forget(EndpointWatch* endpoint) {
  std::erase_if(endpoints_, [endpoint](const auto& each) { return each.get() == endpoint; });
}

void Checks::Stuck(coro::Duration now) {
  for (const auto& endpoint : endpoints_) endpoint->Stuck(now);
}

void Checks::OnOwnerGone(fabric::Context context) {
  if (endpoints_.empty()) return;
  const coro::Duration now = *clock_ - start_;
  for (const auto& endpoint : endpoints_) endpoint->OwnerGone(context, now);
}

}  // namespace sim
