#include "drydock/fabric/async/credited_messages.h"

#include <algorithm>
#include <utility>

#include "drydock/coro/check.h"
#include "drydock/coro/event_loop.h"
#include "drydock/fabric/async/retry_policy.h"

namespace drydock::fabric::async {
namespace {

const CreditTerms& Checked(const CreditTerms& terms) {
  DD_CHECK(terms.batch > 0 && terms.batch <= terms.credits,
           "a batch of credits is one, or more, and never more than there are");
  return terms;
}

// Gives a credit back at its end, also where the task is cancelled, if the message never left.
class Refund {
 public:
  Refund(CreditWindow& window, const OperationAwaiter& sending)
      : window_(window), sending_(sending) {}
  ~Refund() {
    if (sending_.unposted()) window_.Undo();
  }

 private:
  CreditWindow& window_;
  const OperationAwaiter& sending_;
};

Completion Failed(ErrorCode error) {
  Completion failed;
  failed.error = error;
  return failed;
}

}  // namespace

// ---- The sender ----

CreditedSender::CreditedSender(AsyncEndpoint& endpoint, Peer receiver, const CreditTerms& terms)
    : endpoint_(endpoint),
      receiver_(receiver),
      terms_(Checked(terms)),
      window_(terms.credits),
      returned_(endpoint.dispatcher(), terms.immediate) {
  counting_.Spawn(CountCredits());
}

coro::Task<Completion> CreditedSender::Send(BufferSlice message, OperationOptions options) {
  const absl::Status credit = co_await window_.Take(options.deadline);
  if (!failure_.ok()) co_return Failed(ErrorCode::kPeerAborted);
  if (!credit.ok()) co_return Failed(ErrorCode::kDeadlineExceeded);
  auto sending = endpoint_.Send(message, receiver_, options);
  const Refund refund(window_, sending);
  const Completion sent = co_await sending;
  if (sent.ok() || sent.error == ErrorCode::kDeadlineExceeded || sending.unposted()) co_return sent;
  if (MayHaveHadEffect(sent.error, OperationKind::kSend)) {
    Fail(endpoint_.ToStatus(sent, "send with a credit"));
  } else {
    window_.Undo();
  }
  co_return sent;
}

coro::Task<absl::Status> CreditedSender::CountCredits() {
  for (std::uint64_t seen = 0;;) {
    co_await returned_.Reached(seen + 1);
    seen = returned_.count();
    const absl::Status status = window_.Returned(seen * terms_.batch);
    if (status.ok()) continue;
    Fail(status);
    co_return absl::OkStatus();  // the sender is told
  }
}

void CreditedSender::Fail(const absl::Status& why) {
  if (failure_.ok()) failure_ = why;
  window_.Fail(why);
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
