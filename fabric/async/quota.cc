#include "drydock/fabric/async/quota.h"

#include "drydock/coro/check.h"

namespace drydock::fabric::async {

class Quota::Place : public coro::ListNode {
 public:
  explicit Place(Quota& quota) : quota_(quota) { quota_.line_.PushBack(*this); }
  ~Place() {
    Unlink();
    quota_.WakeFirst();
  }

  // It is the first in line, and there is something to take.
  bool served() { return quota_.line_.front() == this && quota_.free_ > 0; }

  coro::WaitList turn;

 private:
  Quota& quota_;
};

Quota::Quota(std::size_t most) : most_(most), free_(most) {}

Quota::~Quota() = default;

std::optional<Quota::Taken> Quota::TryTake(std::shared_ptr<Quota> quota) {
  if (quota->closed_ || quota->free_ == 0 || !quota->line_.empty()) return std::nullopt;
  --quota->free_;
  return Taken(std::move(quota));
}

coro::NowTask<std::optional<Quota::Taken>> Quota::Take(std::shared_ptr<Quota> quota,
                                                       coro::Time deadline) {
  std::optional<Taken> taken = TryTake(quota);
  if (taken.has_value()) co_return taken;
  Place place(*quota);
  bool in_time = true;
  while (in_time && !quota->closed_ && !place.served()) {
    in_time = co_await place.turn.Wait(deadline);
  }
  if (quota->closed_ || !place.served()) co_return std::nullopt;
  --quota->free_;
  co_return Taken(quota);
}

void Quota::GiveBack(std::size_t count) {
  DD_CHECK(count <= most_ - free_, "more is given back than was taken");
  free_ += count;
  WakeFirst();
  if (free_ == most_) all_back_.NotifyAll();
}

coro::Task<bool> Quota::AllBack(std::shared_ptr<Quota> quota, coro::Time deadline) {
  bool in_time = true;
  while (in_time && quota->free_ < quota->most_) in_time = co_await quota->all_back_.Wait(deadline);
  co_return quota->free_ == quota->most_;
}

void Quota::Close() {
  closed_ = true;
  WakeFirst();
}

void Quota::WakeFirst() {
  Place* first = line_.front();
  if (first != nullptr && (closed_ || free_ > 0)) first->turn.NotifyAll();
}

}  // namespace drydock::fabric::async
