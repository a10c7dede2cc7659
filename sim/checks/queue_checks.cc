#include "drydock/sim/checks/queue_checks.h"

#include <chrono>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace drydock::sim {

std::uint64_t QueueChecks::ReadsOf(const CompletionRing& ring) const {
  const Watched* watched = Find(ring);
  return watched == nullptr ? 0 : watched->reads;
}

void QueueChecks::OnQueueOpened(const CompletionRing& ring, std::uint32_t domain) {
  if (ring.serial() >= queues_.size()) queues_.resize(ring.serial() + 1u);
  if (domain >= domain_reads_.size()) domain_reads_.resize(domain + 1u);
  queues_[ring.serial()].domain = domain;
}

void QueueChecks::OnQueueClosing(const NicState& nic, const CompletionRing& ring, bool unread,
                                 std::uint32_t unacknowledged) {
  const Watched* watched = Find(ring);
  if (unread && watched != nullptr && watched->reads == 0) {
    log_.Add(Check::kUnreadCompletions, nic.name, ring.number(), [&] {
      return absl::StrCat("completion queue ", ring.number(),
                          " had completions, and nobody ever looked into it: what its requests "
                          "came to is not known, and their slots are never free again");
    });
  }
  if (unacknowledged == 0) return;
  log_.Add(Check::kUnacknowledgedEvents, nic.name, ring.number(), [&] {
    // libibverbs compares two numbers of 32 bits.
    const bool too_few = static_cast<std::int32_t>(unacknowledged) > 0;
    const std::uint32_t events = too_few ? unacknowledged : 0 - unacknowledged;
    return absl::StrCat("completion queue ", ring.number(), " was destroyed with ", events,
                        events == 1 ? " event" : " events",
                        too_few ? " that the program took and did not acknowledge"
                                : " that the program acknowledged and never took",
                        ": libibverbs waits there for ever");
  });
}

void QueueChecks::OnPolling(const CompletionRing& ring) {
  Watched* watched = Find(ring);
  if (watched == nullptr) return;
  ++watched->reads;
  ++domain_reads_[watched->domain];
  watched->service.Read();
}

void QueueChecks::OnReported(const NicState& nic, const CompletionRing& ring,
                             const DeviceCompletion& /*completion*/, EntryFate fate) {
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
  if (fate == EntryFate::kWithheld) return;
  Watched* watched = Find(ring);
  if (watched == nullptr || ring.mapped()) return;
  if (!watched->service.Arrived(log_.Now(), domain_reads_[watched->domain])) return;
  log_.Add(Check::kCompletionQueueService, nic.name, ring.number(), [&] {
    return absl::StrCat("completion queue ", ring.number(), " has had entries for more than ",
                        QueueService::kPatience / std::chrono::seconds(1),
                        " s that nobody read, while the program read other queues: its slots and "
                        "its news wait there");
  });
}

void QueueChecks::OnTwoThreads(const NicState& nic, std::uint32_t number, bool queue_pair) {
  log_.Add(Check::kOneThread, nic.name, number, [&] {
    return absl::StrCat("a thread came into ", queue_pair ? "queue pair " : "completion queue ",
                        number,
                        " while another one was in it, though the program has promised to use it "
                        "from one thread at a time: on EFA no lock keeps them apart");
  });
}

}  // namespace drydock::sim
