// The storage that libfabric wants for every request under way (FI_CONTEXT, FI_CONTEXT2), and what
// we remember of it.

#ifndef FABRIC_LIBFABRIC_REQUEST_SLOTS_H_
#define FABRIC_LIBFABRIC_REQUEST_SLOTS_H_

#include <rdma/fabric.h>

#include <cstddef>
#include <memory>
#include <optional>

#include "fabric/operation.h"

namespace fabric::libfabric {

class RequestSlots;

// One request. Its address is the op_context that the library sees: the provider writes into
// `provider_memory` until the completion was read.
struct RequestSlot {
  fi_context2 provider_memory;
  std::optional<Context> context;
  OperationKind kind;
  RequestSlot* next_free;
  RequestSlots* owner;

  static RequestSlot* FromContext(void* op_context) {
    return static_cast<RequestSlot*>(op_context);
  }
};

// As many slots as a queue has entries: none free is the contract's kAgain. Not thread-safe.
class RequestSlots {
 public:
  explicit RequestSlots(std::size_t depth) : slots_(std::make_unique<RequestSlot[]>(depth)) {
    for (std::size_t i = depth; i > 0; --i) {
      slots_[i - 1].owner = this;
      Push(slots_[i - 1]);
    }
  }

  std::size_t in_use() const { return in_use_; }

  // The endpoint is closed: what its requests came to interests nobody any more.
  bool closed() const { return closed_; }
  void set_closed() { closed_ = true; }

  // Null when all are in use.
  RequestSlot* Take(std::optional<Context> context, OperationKind kind) {
    RequestSlot* slot = free_;
    if (slot == nullptr) return nullptr;
    free_ = slot->next_free;
    slot->context = context;
    slot->kind = kind;
    ++in_use_;
    return slot;
  }

  void Release(RequestSlot& slot) {
    Push(slot);
    --in_use_;
  }

 private:
  void Push(RequestSlot& slot) {
    slot.next_free = free_;
    free_ = &slot;
  }

  std::unique_ptr<RequestSlot[]> slots_;
  RequestSlot* free_ = nullptr;
  std::size_t in_use_ = 0;
  bool closed_ = false;
};

}  // namespace fabric::libfabric

#endif  // FABRIC_LIBFABRIC_REQUEST_SLOTS_H_
