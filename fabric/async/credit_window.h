// Limits a sender to as many messages as its receiver has receives posted.
//
//   CreditWindow window(16);                      // the peer has posted 16 receives for us
//   CO_RETURN_IF_ERROR(co_await window.Take(deadline));
//   ... send one message ...
//   CO_RETURN_IF_ERROR(window.Returned(reply.taken));  // the peer has taken so many, all told
//
// A message that finds no receive is refused by the peer's NIC and sent again, and again: it fills
// the network and delays all traffic, or it fails. With credits it is not sent before the peer has
// told, in a message or by an immediate, that there is room. The peer tells a total, not an
// increment: told twice or in the wrong order, it does no harm.

#ifndef DRYDOCK_FABRIC_ASYNC_CREDIT_WINDOW_H_
#define DRYDOCK_FABRIC_ASYNC_CREDIT_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/quota.h"

namespace drydock::fabric::async {

// The sender's side. Not thread-safe.
class CreditWindow {
 public:
  // At first. REQUIRES: at least one.
  explicit CreditWindow(std::size_t credits);

  // Waits for a credit and takes it, for one message; the task that waits longest is served first.
  // kDeadlineExceeded: none came back in time. Another error: that of Fail.
  coro::Task<absl::Status> Take(coro::Time deadline = coro::kNever);

  // The message was never sent: its credit is there again. REQUIRES: one was taken for it. (Where
  // the peer has returned that credit already, which is its mistake, the window fails.)
  void Undo();

  // The peer has returned `total` credits since the beginning. A total that is not above an earlier
  // one changes nothing. kInvalidArgument, and nothing has changed: more than were taken, which is
  // the peer's mistake.
  absl::Status Returned(std::uint64_t total);

  // No credit comes any more: Take answers `why`, also to those that wait already. The first call
  // counts. REQUIRES: an error.
  void Fail(const absl::Status& why);

  // OK, or that of Fail.
  const absl::Status& status() const { return failure_; }
  std::size_t available() const { return quota_->free(); }
  std::uint64_t taken() const { return taken_; }  // since the beginning

 private:
  std::shared_ptr<Quota> quota_;
  std::uint64_t taken_ = 0;
  std::uint64_t returned_ = 0;
  absl::Status failure_;
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_CREDIT_WINDOW_H_
