// Limits the number of operations under way at a time.
//
//   OperationWindow window(16);
//   for (const BufferSlice& page : pages) {
//     CO_ASSIGN_OR_RETURN(auto permit, co_await window.Enter(deadline));
//     writes.Spawn(WritePage(std::move(permit).Over(page), ...));
//   }
//   const bool all_done = co_await window.Drain(deadline);
//
// An operation is under way until its completion was read, not until its coroutine is gone: a
// permit that was laid over the operation's buffer is given back then, and not before. So the NIC's
// queues have room for all operations that the window admits, also when operations are given up.

#ifndef DRYDOCK_FABRIC_ASYNC_OPERATION_WINDOW_H_
#define DRYDOCK_FABRIC_ASYNC_OPERATION_WINDOW_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/quota.h"
#include "drydock/fabric/async/registered_buffer.h"

namespace drydock::fabric::async {

// Not thread-safe. May die before its permits.
class OperationWindow {
 public:
  // One operation's right to be under way; given back when it goes. Movable.
  class Permit {
   public:
    // `piece` for one operation, with the permit: it is given back when neither the program nor the
    // NIC has a share in this slice any more. REQUIRES: the slice is not empty.
    BufferSlice Over(BufferSlice piece) &&;

   private:
    friend class OperationWindow;
    explicit Permit(Quota::Taken taken) : taken_(std::move(taken)) {}

    Quota::Taken taken_;
  };

  // REQUIRES: most > 0.
  explicit OperationWindow(std::size_t most);

  // Waits until fewer than `most` are under way; the task that waits longest goes first.
  // kDeadlineExceeded: none ended in time.
  coro::Task<absl::StatusOr<Permit>> Enter(coro::Time deadline = coro::kNever);

  // Waits until nothing is under way; false when the deadline came first.
  coro::Task<bool> Drain(coro::Time deadline = coro::kNever);

  std::size_t under_way() const { return quota_->most() - quota_->free(); }

 private:
  std::shared_ptr<Quota> quota_;
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_OPERATION_WINDOW_H_
