#include "drydock/fabric/async/credit_window.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"

namespace drydock::fabric::async {

CreditWindow::CreditWindow(std::size_t credits) : quota_(std::make_shared<Quota>(credits)) {
  DD_CHECK(credits > 0, "a window without credits");
}

coro::Task<absl::Status> CreditWindow::Take(coro::Time deadline) {
  std::optional<Quota::Taken> credit = co_await Quota::Take(quota_, deadline);
  if (!failure_.ok()) co_return failure_;
  if (!credit.has_value()) {
    co_return absl::DeadlineExceededError(absl::StrCat(
        "take a credit: ", taken_ - returned_, " messages are under way, as many as may be"));
  }
  std::move(*credit).Keep();
  ++taken_;
  co_return absl::OkStatus();
}

void CreditWindow::Undo() {
  if (taken_ == returned_) {
    return Fail(absl::InvalidArgumentError(absl::StrCat("peer has returned credit ", returned_,
                                                        ", of a message that was never sent")));
  }
  --taken_;
  quota_->GiveBack(1);
}

absl::Status CreditWindow::Returned(std::uint64_t total) {
  if (total > taken_) {
    return absl::InvalidArgumentError(
        absl::StrCat("peer returns credit ", total, ", and no more than ", taken_, " were taken"));
  }
  if (total <= returned_) return absl::OkStatus();
  const std::uint64_t more = total - returned_;
  returned_ = total;
  quota_->GiveBack(static_cast<std::size_t>(more));
  return absl::OkStatus();
}

void CreditWindow::Fail(const absl::Status& why) {
  DD_CHECK(!why.ok(), "failing with success");
  if (failure_.ok()) failure_ = why;
  quota_->Close();
}

}  // namespace drydock::fabric::async
