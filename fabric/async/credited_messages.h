// Messages that always find a receive: credits that come back by write with immediate.
//
//     CreditedSender                                CreditedReceiver
//     Take a credit, send            ── message ──►  MessageReceiver: `credits` receives, posted
//     ImmediateCounter, window       ◄── write ────  Next: every `batch` messages, an immediate
//
// One sender and one receiver on each connection; the receiver's endpoint receives nothing else.

#ifndef DRYDOCK_FABRIC_ASYNC_CREDITED_MESSAGES_H_
#define DRYDOCK_FABRIC_ASYNC_CREDITED_MESSAGES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/credit_window.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/message_receiver.h"
#include "drydock/fabric/async/operation_slots.h"
#include "drydock/fabric/async/registered_buffer.h"

namespace drydock::fabric::async {

// The settings that both sides have to agree on.
struct CreditTerms {
  std::size_t credits = 16;     // messages that are not taken yet, at most
  std::size_t batch = 1;        // messages for each immediate; 1 to `credits`
  std::uint32_t immediate = 0;  // of the receiver's writes; counted by the sender only
};

// Not thread-safe, not movable; dies before its endpoint, and outlives the tasks of its Sends. The
// receiver may be told of it once it exists: an immediate that comes before is lost.
class CreditedSender final : private OperationWaiter {
 public:
  // REQUIRES: a running loop, and terms that make sense.
  CreditedSender(AsyncEndpoint& endpoint, Peer receiver, const CreditTerms& terms);
  CreditedSender(const CreditedSender&) = delete;
  CreditedSender& operator=(const CreditedSender&) = delete;
  ~CreditedSender();

  // Waits for a credit, and sends. The completion is that of the send, or kDeadlineExceeded where
  // no credit came in time, or kPeerAborted where there will be none any more (see status). A send
  // that was given up, at its deadline or with its task, is under way until the receiver has taken
  // it or it has failed after all. Where it never arrives, as where the NIC had not taken it, its
  // credit is there again. After one that failed and may have arrived all the same, it is not known
  // how many credits are left: there will be none any more.
  // REQUIRES: the receiver's receives hold the message. One that is too long has used its credit
  // up, and where the fabric tells only the receiver of it (tcp, efa), nobody gives that back.
  coro::Task<Completion> Send(BufferSlice message, OperationOptions options = {});

  // OK, or why there will be no more credits.
  const absl::Status& status() const { return window_.status(); }
  const CreditWindow& window() const { return window_; }

 private:
  class Settling;

  // A message has ended so, perhaps long after it was given up: what becomes of its credit.
  void Resolve(const Completion& sent) override;
  // Brings the credits back, for as long as the sender lives.
  coro::Task<absl::Status> CountCredits();

  AsyncEndpoint& endpoint_;
  const Peer receiver_;
  const CreditTerms terms_;
  CreditWindow window_;
  ImmediateCounter returned_;
  coro::Scope counting_;  // last: its task uses the rest
};

// The target of the receiver's immediates.
struct CreditTarget {
  Peer sender{};
  // Eight bytes of the sender's that it lets be written, and does not read.
  RemoteBuffer bytes;
};

// Not thread-safe, not movable; dies before its endpoint.
class CreditedReceiver {
 public:
  static constexpr std::size_t kCreditBytes = 8;

  // The bytes that `memory` has to hold.
  static std::size_t MemoryBytes(const CreditTerms& terms, std::size_t message_bytes) {
    return terms.credits * message_bytes + kCreditBytes;
  }

  // Posts the receives: the sender may send when it knows that this exists. REQUIRES: a running
  // loop, terms that make sense, and enough memory.
  CreditedReceiver(AsyncEndpoint& endpoint, const BufferRef& memory, std::size_t message_bytes,
                   const CreditTerms& terms, const CreditTarget& target);
  CreditedReceiver(const CreditedReceiver&) = delete;
  CreditedReceiver& operator=(const CreditedReceiver&) = delete;

  // The next message; taking it gives its credit back. kDeadlineExceeded: none came in time.
  // Another error, now and for good: receiving has failed, or giving a credit back.
  coro::Task<absl::StatusOr<Message>> Next(coro::Time deadline = coro::kNever);

 private:
  // Brings in messages while there is room for them. A sender that heeds its credits never finds
  // none.
  coro::Task<absl::Status> Fetch();
  coro::Task<absl::Status> GiveCredits();
  void Fail(const absl::Status& why);

  AsyncEndpoint& endpoint_;
  const CreditTerms terms_;
  const CreditTarget target_;
  const BufferSlice credit_;  // its bytes never change: writes of it may overtake each other
  MessageReceiver receiver_;
  std::deque<Message> messages_;
  std::uint64_t taken_ = 0;
  absl::Status failure_;
  coro::WaitList changed_;  // messages, failure_
  coro::WaitList room_;
  coro::Scope tasks_;  // last: they use the rest
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_CREDITED_MESSAGES_H_
