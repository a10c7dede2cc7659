#include "drydock/fabric/async/credited_messages.h"

#include <algorithm>
#include <utility>

#include "drydock/coro/check.h"
#include "drydock/coro/event_loop.h"
#include "drydock/fabric/async/may_have_had_effect.h"

namespace drydock::fabric::async {
namespace {

const CreditTerms& Checked(const CreditTerms& terms) {
  DD_CHECK(terms.batch > 0 && terms.batch <= terms.credits,
           "a batch of credits is one, or more, and never more than there are");
  return terms;
}

Completion Failed(ErrorCode error) {
  Completion failed;
  failed.error = error;
  return failed;
}

}  // namespace

// ---- The sender ----

// Settles a message's credit at the end of its task, also where that is cancelled. That of one that
// is left behind is settled when its completion comes.
class CreditedSender::Settling {
 public:
  Settling(CreditedSender& sender, OperationAwaiter& sending) : sender_(sender), sending_(sending) {
    sending.LeaveTo(sender);
  }
  ~Settling() {
    if (sending_.unposted()) {
      sender_.window_.Undo();
    } else {
      sender_.Resolve(sending_.outcome());
    }
  }

 private:
  CreditedSender& sender_;
  const OperationAwaiter& sending_;
};

CreditedSender::CreditedSender(AsyncEndpoint& endpoint, Peer receiver, const CreditTerms& terms)
    : endpoint_(endpoint),
      receiver_(receiver),
      terms_(Checked(terms)),
      window_(terms.credits),
      returned_(endpoint.dispatcher(), terms.immediate) {
  counting_.Spawn(CountCredits());
}

CreditedSender::~CreditedSender() { endpoint_.dispatcher().slots().Disinherit(*this); }

coro::Task<Completion> CreditedSender::Send(BufferSlice message, OperationOptions options) {
  const absl::Status credit = co_await window_.Take(options.deadline);
  if (!status().ok()) co_return Failed(ErrorCode::kPeerAborted);
  if (!credit.ok()) co_return Failed(ErrorCode::kDeadlineExceeded);
  auto sending = endpoint_.Send(message, receiver_, options);
  const Settling settling(*this, sending);
  co_return co_await sending;
}

void CreditedSender::Resolve(const Completion& sent) {
  // Our own deadline ends no message: its completion is still to come.
  if (sent.ok() || sent.error == ErrorCode::kDeadlineExceeded) return;
  if (MayHaveHadEffect(sent.error, OperationKind::kSend)) {
    window_.Fail(endpoint_.ToStatus(sent, "send with a credit"));
  } else {
    window_.Undo();
  }
}

coro::Task<absl::Status> CreditedSender::CountCredits() {
  for (std::uint64_t seen = 0;;) {
    co_await returned_.Reached(seen + 1);
    seen = returned_.count();
    const absl::Status status = window_.Returned(seen * terms_.batch);
    if (status.ok()) continue;
    window_.Fail(status);
    co_return absl::OkStatus();  // the sender is told
  }
}

// ---- The receiver ----

CreditedReceiver::CreditedReceiver(AsyncEndpoint& endpoint, const BufferRef& memory,
                                   std::size_t message_bytes, const CreditTerms& terms,
                                   const CreditTarget& target)
    : endpoint_(endpoint),
      terms_(Checked(terms)),
      target_(target),
      credit_(memory, terms.credits * message_bytes, kCreditBytes),
      receiver_(endpoint, memory, terms.credits, message_bytes, /*backlog=*/terms.credits) {
  tasks_.Spawn(Fetch());
}

coro::Task<absl::StatusOr<Message>> CreditedReceiver::Next(coro::Time deadline) {
  bool in_time = true;
  while (in_time && messages_.empty() && failure_.ok()) in_time = co_await changed_.Wait(deadline);
  if (messages_.empty() && !failure_.ok()) co_return failure_;
  if (messages_.empty()) co_return absl::DeadlineExceededError("receive: no message came in time");
  Message message = std::move(messages_.front());
  messages_.pop_front();
  room_.NotifyAll();
  if (++taken_ % terms_.batch == 0 && failure_.ok()) tasks_.Spawn(GiveCredits());
  co_return message;
}

coro::Task<absl::Status> CreditedReceiver::Fetch() {
  for (;;) {
    absl::StatusOr<Message> message = co_await receiver_.Next();
    if (!message.ok()) {
      Fail(message.status());
      co_return absl::OkStatus();  // Next has it
    }
    messages_.push_back(*std::move(message));
    changed_.NotifyAll();
    while (messages_.size() >= terms_.credits) co_await room_.Wait();
  }
}

// Its message is not under way any more, and a receive has been posted in its place: that was done
// before Fetch got the message.
coro::Task<absl::Status> CreditedReceiver::GiveCredits() {
  OperationOptions options;
  options.immediate = terms_.immediate;
  const Completion given =
      co_await endpoint_.Write(credit_, target_.bytes, target_.sender, options);
  const absl::Status status = endpoint_.ToStatus(given, "give a credit back");
  if (!status.ok()) Fail(status);
  co_return absl::OkStatus();  // Next has it
}

void CreditedReceiver::Fail(const absl::Status& why) {
  if (failure_.ok()) failure_ = why;
  changed_.NotifyAll();
}

}  // namespace drydock::fabric::async
