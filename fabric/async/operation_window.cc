#include "drydock/fabric/async/operation_window.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/fabric/async/held_buffer.h"

namespace drydock::fabric::async {

BufferSlice OperationWindow::Permit::Over(BufferSlice piece) && {
  return HoldWhileUsed(std::move(piece), std::move(taken_));
}

OperationWindow::OperationWindow(std::size_t most) : quota_(std::make_shared<Quota>(most)) {
  DD_CHECK(most > 0, "a window that lets nothing in");
}

coro::Task<absl::StatusOr<OperationWindow::Permit>> OperationWindow::Enter(coro::Time deadline) {
  const std::shared_ptr<Quota> quota = quota_;
  std::optional<Quota::Taken> taken = co_await Quota::Take(quota, deadline);
  if (!taken.has_value()) {
    co_return absl::DeadlineExceededError(
        absl::StrCat("enter a window: all of ", quota->most(), " operations are under way"));
  }
  co_return Permit(*std::move(taken));
}

coro::Task<bool> OperationWindow::Drain(coro::Time deadline) {
  return Quota::AllBack(quota_, deadline);
}

}  // namespace drydock::fabric::async
