#include "sim/checks/endpoint_watch.h"

#include "absl/strings/str_cat.h"
#include "sim/checks/checks.h"
#include "sim/checks/context_ownership.h"

namespace sim {

void EndpointWatch::Accepted(std::uint16_t id, const Posted& posted, coro::Duration now) {
  checks_.progress().Reset();
  retries_.Accepted(posted);
  const Posted* same = posted.signalled ? sends_.Find(posted) : nullptr;
  if (same != nullptr) [[unlikely]] {
    SameContext(posted, *same, now);
  }
  if (checks_.immediates().on() && ImmediateNamespace::IsTaken(posted, sends_)) [[unlikely]] {
    checks_.Found(Check::kImmediateNamespace, endpoint_.where, endpoint_.number, now, [&] {
      return absl::StrCat("a ", ToText(posted),
                          " has the immediate of another write in flight to another place of the "
                          "same peer: the receiver cannot tell which of them it hears of");
    });
  }
  if (const PeerState told = peers_.Accepted(posted); told != PeerState::kReachable) [[unlikely]] {
    Futile(posted, told, now);
  }
  sends_.Add(id, posted, now);
}

void EndpointWatch::AcceptedReceive(std::uint16_t id, const Posted& posted, coro::Duration now) {
  checks_.progress().Reset();
  const Posted* same = posted.signalled ? receives_.Find(posted) : nullptr;
  if (same != nullptr) [[unlikely]] {
    SameContext(posted, *same, now);
  }
  receives_.Add(id, posted, now);
}

void EndpointWatch::SameContext(const Posted& posted, const Posted& other, coro::Duration now) {
  if (!checks_.contexts_are_names()) return;
  if (RetryIdempotence::IsPostedTwice(posted, other)) {
    return checks_.Found(Check::kRetryIdempotence, endpoint_.where, endpoint_.number, now, [&] {
      return absl::StrCat("a ", ToText(posted), " was posted on queue pair ", endpoint_.number,
                          " though the same one had been accepted and is in flight: only what "
                          "was refused with kAgain is tried again");
    });
  }
  if (!ContextOwnership::IsShared(posted, other)) return;
  checks_.Found(Check::kContextOwnership, endpoint_.where, endpoint_.number, now, [&] {
    return absl::StrCat("a ", ToText(posted), " was posted on queue pair ", endpoint_.number,
                        " while another ", std::string(fabric::Name(other.kind)),
                        " with this context is in flight: nobody can tell their completions apart");
  });
}

void EndpointWatch::Futile(const Posted& posted, PeerState told, coro::Duration now) {
  if (endpoint_.state_of(posted.peer) != told) return;
  const bool gone = told == PeerState::kNoQueuePair;
  checks_.Found(Check::kPeerIncarnation, endpoint_.where, endpoint_.number, now, [&] {
    return absl::StrCat(
        "queue pair ", endpoint_.number, " goes on posting to a peer that ",
        gone ? "is closed, and was told so: an address does not outlive its endpoint, the peer's "
               "new one has to be inserted"
             : "did not insert it, and was told so: both sides have to insert each other before "
               "the first read or write");
  });
}

void EndpointWatch::Stuck(coro::Duration now) {
  for (const Posted& posted : retries_.refused()) {
    checks_.Found(Check::kRetryIdempotence, endpoint_.where, endpoint_.number, now, [&] {
      return absl::StrCat("a ", ToText(posted), " was refused by queue pair ", endpoint_.number,
                          " with kAgain and never tried again, and now the program waits though "
                          "nothing is under way");
    });
  }
  retries_.Forget();
}

void EndpointWatch::OwnerGone(fabric::Context context, coro::Duration now) {
  for (const fabric::OperationKind kind :
       {fabric::OperationKind::kSend, fabric::OperationKind::kReceive,
        fabric::OperationKind::kWrite, fabric::OperationKind::kRead}) {
    Posted like;
    like.kind = kind;
    like.context = context;
    const bool receive = kind == fabric::OperationKind::kReceive;
    const Posted* posted = receive ? receives_.Find(like) : sends_.Find(like);
    if (posted == nullptr) continue;
    checks_.Found(Check::kAwaiterLifetime, endpoint_.where, endpoint_.number, now, [&] {
      return absl::StrCat("the owner of the context of a ", std::string(fabric::Name(kind)), " of ",
                          posted->length, " bytes on queue pair ", endpoint_.number,
                          " was destroyed before the completion was read: it will go to nobody, "
                          "or to whoever lives there next");
    });
  }
}

}  // namespace sim
