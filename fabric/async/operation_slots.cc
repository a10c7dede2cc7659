#include "drydock/fabric/async/operation_slots.h"

#include <memory>
#include <utility>
#include <vector>

#include "drydock/coro/check.h"

namespace drydock::fabric::async {
namespace {

std::uint64_t Name(Context context) { return static_cast<std::uint64_t>(context); }

}  // namespace

Context OperationSlots::Acquire(OperationWaiter& waiter, BufferRef buffer, const void* endpoint) {
  const auto [name, slot] = slots_.Take();
  slot->waiter = &waiter;
  std::construct_at(&slot->buffer, std::move(buffer));  // what was there has been given back
  slot->endpoint = endpoint;
  return static_cast<Context>(name);
}

OperationWaiter* OperationSlots::Empty(std::uint64_t name, Slot& slot) {
  OperationWaiter* waiter = slot.waiter;
  if (waiter == nullptr) [[unlikely]]
    waiter = Forget(name);
  slot.buffer.reset();
  return waiter;
}

OperationWaiter* OperationSlots::Forget(std::uint64_t name) {
  const auto left = abandoned_.extract(name);
  return left.empty() ? nullptr : left.mapped().heir;
}

void OperationSlots::Release(Context context) {
  Slot* const slot = slots_.FindAndFree(Name(context));
  DD_CHECK(slot != nullptr, "releasing an operation that is not in flight");
  Empty(Name(context), *slot);
}

void OperationSlots::Abandon(Context context, const std::optional<Orphan>& orphan,
                             OperationWaiter* heir) {
  Slot* const slot = slots_.Find(Name(context));
  DD_CHECK(slot != nullptr && slot->waiter != nullptr, "abandoning an operation twice");
  slot->waiter = nullptr;
  abandoned_[Name(context)] = {slot->endpoint, orphan, heir};
}

void OperationSlots::Disinherit(const OperationWaiter& heir) {
  for (auto& [name, left] : abandoned_) {
    if (left.heir == &heir) left.heir = nullptr;
  }
}

std::string OperationSlots::DescribeOrphans(coro::Time now) const {
  std::vector<Orphan> orphans;
  for (const auto& [name, left] : abandoned_) {
    if (left.orphan.has_value()) orphans.push_back(*left.orphan);
  }
  return Describe(orphans, now);
}

std::string OperationSlots::DescribeOrphansOf(const void* endpoint, coro::Time now) const {
  std::vector<Orphan> orphans;
  for (const auto& [name, left] : abandoned_) {
    if (left.endpoint != endpoint || !left.orphan.has_value()) continue;
    const bool goes_along = left.orphan->dropped && left.orphan->since == now;
    if (!goes_along) orphans.push_back(*left.orphan);
  }
  return Describe(orphans, now);
}

bool OperationSlots::Complete(Context context, const Completion& completion) {
  Slot* const slot = slots_.FindAndFree(Name(context));
  if (slot == nullptr) return false;
  OperationWaiter* const waiter = Empty(Name(context), *slot);
  if (waiter != nullptr) waiter->Resolve(completion);
  return true;
}

void OperationSlots::CancelAll(const void* endpoint) {
  slots_.ForEach([&](std::uint64_t name, Slot& slot) {
    if (slot.endpoint != endpoint) return;
    Completion canceled;
    canceled.context = static_cast<Context>(name);
    canceled.error = ErrorCode::kCanceled;
    slots_.Free(name);
    OperationWaiter* const waiter = Empty(name, slot);
    if (waiter != nullptr) waiter->Resolve(canceled);
  });
}

}  // namespace drydock::fabric::async
