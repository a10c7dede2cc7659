#include "drydock/sim/checks/endpoint_watch.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "drydock/sim/checks/context_ownership.h"
#include "drydock/sim/checks/immediate_namespace.h"
#include "drydock/sim/checks/progress.h"

namespace drydock::sim {
namespace {

// Refusals in a row, without a look into the completion queue, that are one finding.
constexpr std::uint64_t kPatience = 1000;
// In real time they have to last, too: the thread that reads may be waiting for a processor.
constexpr coro::Duration kRealPatience = std::chrono::seconds(1);

}  // namespace

void EndpointWatch::Accepted(std::uint16_t id, const Posted& posted) {
  retries_.Accepted(posted);
  receivers_.Accepted(posted);
  const Posted* same = posted.signalled ? sends_.Find(posted) : nullptr;
  if (same != nullptr) [[unlikely]] {
    SameContext(posted, *same);
  }
  if (rules_.distinct_immediates && ImmediateNamespace::IsTaken(posted, sends_)) [[unlikely]] {
    Found(Check::kImmediateNamespace, [&] {
      return absl::StrCat("a ", ToText(posted),
                          " has the immediate of another write in flight to another place of the "
                          "same peer: the receiver cannot tell which of them it hears of");
    });
  }
  if (const PeerState told = peers_.Accepted(posted); told != PeerState::kReachable) [[unlikely]] {
    Futile(posted, told);
  }
  ++accepted_;
  sends_.Add(id, posted, log_.Now());
}

void EndpointWatch::AcceptedReceive(std::uint16_t id, const Posted& posted) {
  const Posted* same = posted.signalled ? receives_.Find(posted) : nullptr;
  if (same != nullptr) [[unlikely]] {
    SameContext(posted, *same);
  }
  receives_.Add(id, posted, log_.Now());
}

bool EndpointWatch::Refused(const Posted& posted, std::uint64_t reads, coro::Duration waited) {
  if (posted.kind == fabric::OperationKind::kReceive) return false;
  retries_.Refused(posted);
  if (reads != reads_at_again_) {
    reads_at_again_ = reads;
    agains_ = in_vain_ = 0;
  }
  if (waited != waited_at_again_) {  // it may have a deadline
    waited_at_again_ = waited;
    in_vain_ = 0;
  }
  if (agains_++ == 0) first_again_ = log_.Now();
  const bool lasts = !rules_.real_time || log_.Now() - first_again_ >= kRealPatience;
  if (agains_ % kPatience == 0 && lasts) {
    Found(Check::kAgainWithoutReading, [&] {
      return absl::StrCat("queue pair ", queue_pair_.number, " was full ", kPatience,
                          " times in a row, and nobody read its completion queue: reading is what "
                          "makes room");
    });
  }
  return ++in_vain_ == Progress::kInVain;
}

void EndpointWatch::SameContext(const Posted& posted, const Posted& other) {
  if (!rules_.contexts_are_names || of_protocol_) return;
  if (RetryIdempotence::IsPostedTwice(posted, other)) {
    return Found(Check::kRetryIdempotence, [&] {
      return absl::StrCat("a ", ToText(posted), " was posted on queue pair ", queue_pair_.number,
                          " though the same one had been accepted and is in flight: only what "
                          "was refused with kAgain is tried again");
    });
  }
  if (!ContextOwnership::IsShared(posted, other)) return;
  Found(Check::kContextOwnership, [&] {
    return absl::StrCat("a ", ToText(posted), " was posted on queue pair ", queue_pair_.number,
                        " while another ", std::string(fabric::Name(other.kind)),
                        " with this context is in flight: nobody can tell their completions apart");
  });
}

void EndpointWatch::Futile(const Posted& posted, PeerState told) {
  if (state_of_(posted.peer) != told) return;
  const bool gone = told == PeerState::kNoQueuePair;
  Found(Check::kPeerIncarnation, [&] {
    return absl::StrCat(
        "queue pair ", queue_pair_.number, " goes on posting to a peer that ",
        gone ? "is closed, and was told so: an address does not outlive its endpoint, the peer's "
               "new one has to be inserted"
             : "did not insert it, and was told so: both sides have to insert each other before "
               "the first read or write");
  });
}

void EndpointWatch::Stuck() {
  for (const Posted& posted : retries_.refused()) {
    Found(Check::kRetryIdempotence, [&] {
      return absl::StrCat("a ", ToText(posted), " was refused by queue pair ", queue_pair_.number,
                          " with kAgain and never tried again, and now the program waits though "
                          "nothing is under way");
    });
  }
  retries_.Forget();
}

void EndpointWatch::AtEnd() {
  const std::size_t lost = receivers_.TakeLost();
  if (lost == 0 || !rules_.refused_messages_matter) return;
  Found(Check::kReceiverNotReady, [&] {
    return absl::StrCat(lost, lost == 1 ? " message" : " messages", " of queue pair ",
                        queue_pair_.number,
                        " found no receive at the peer until the retries were over, and ",
                        lost == 1 ? "was" : "were",
                        " not sent again: post receives before the peer sends, or retry for ever");
  });
}

void EndpointWatch::BatchLeft(std::size_t requests) {
  Found(Check::kWorkNotRung, [&] {
    return absl::StrCat(requests, requests == 1 ? " request was" : " requests were",
                        " prepared on queue pair ", queue_pair_.number,
                        " and never rung for: the device has not heard of ",
                        requests == 1 ? "it" : "them", ", and nothing will complete");
  });
}

void EndpointWatch::OwnerGone(fabric::Context context) {
  for (const fabric::OperationKind kind :
       {fabric::OperationKind::kSend, fabric::OperationKind::kReceive,
        fabric::OperationKind::kWrite, fabric::OperationKind::kRead}) {
    Posted like;
    like.kind = kind;
    like.context = context;
    const bool receive = kind == fabric::OperationKind::kReceive;
    const Posted* posted = receive ? receives_.Find(like) : sends_.Find(like);
    if (posted == nullptr) continue;
    Found(Check::kAwaiterLifetime, [&] {
      return absl::StrCat("the owner of the context of a ", std::string(fabric::Name(kind)), " of ",
                          posted->length, " bytes on queue pair ", queue_pair_.number,
                          " was destroyed before the completion was read: the completion goes to "
                          "no owner, or to the next object at that address");
    });
  }
}

}  // namespace drydock::sim
