#include "fabric/async/operation_slots.h"

#include "coro/check.h"

namespace fabric::async {
namespace {

Context Pack(std::uint32_t index, std::uint32_t generation) {
  return static_cast<Context>(std::uint64_t{generation} << 32 | index);
}

}  // namespace

Context OperationSlots::Acquire(OperationWaiter& waiter, const BufferRef& buffer,
                                const void* endpoint) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  ++slot.generation;
  slot.live = true;
  slot.waiter = &waiter;
  slot.buffer = buffer;
  slot.endpoint = endpoint;
  ++in_flight_;
  return Pack(index, slot.generation);
}

OperationSlots::Slot* OperationSlots::Find(Context context) {
  const auto packed = static_cast<std::uint64_t>(context);
  const auto index = static_cast<std::uint32_t>(packed);
  if (index >= slots_.size() || !slots_[index].live) return nullptr;
  return slots_[index].generation == packed >> 32 ? &slots_[index] : nullptr;
}

OperationWaiter* OperationSlots::Free(Slot& slot) {
  OperationWaiter* waiter = slot.waiter;
  if (waiter == nullptr) --abandoned_;
  slot.live = false;
  slot.waiter = nullptr;
  slot.buffer.reset();
  free_.push_back(static_cast<std::uint32_t>(&slot - slots_.data()));
  --in_flight_;
  return waiter;
}

void OperationSlots::Release(Context context) {
  Slot* slot = Find(context);
  DD_CHECK(slot != nullptr, "releasing an operation that is not in flight");
  Free(*slot);
}

void OperationSlots::Abandon(Context context) {
  Slot* slot = Find(context);
  DD_CHECK(slot != nullptr && slot->waiter != nullptr, "abandoning an operation twice");
  slot->waiter = nullptr;
  ++abandoned_;
}

bool OperationSlots::Complete(Context context, const Completion& completion) {
  Slot* slot = Find(context);
  if (slot == nullptr) return false;
  OperationWaiter* waiter = Free(*slot);
  if (waiter != nullptr) waiter->Resolve(completion);
  return true;
}

void OperationSlots::CancelAll(const void* endpoint) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].live || slots_[i].endpoint != endpoint) continue;
    Completion canceled;
    canceled.context = Pack(static_cast<std::uint32_t>(i), slots_[i].generation);
    canceled.error = ErrorCode::kCanceled;
    OperationWaiter* waiter = Free(slots_[i]);
    if (waiter != nullptr) waiter->Resolve(canceled);
  }
}

}  // namespace fabric::async
