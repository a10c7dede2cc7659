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
struct VectorCore;

// One request. Its address is the op_context that the library sees: the provider writes into
// `provider_memory` until the completion was read.
struct RequestSlot {
  fi_context2 provider_memory;
  Context context;
  bool signalled;  // in use, and with a context
  OperationKind kind;
  bool multi;  // a receive that takes several messages: one completion does not end it
  RequestSlot* next_free;
  RequestSlots* owner;

  static RequestSlot* FromContext(void* op_context) {
    return static_cast<RequestSlot*>(op_context);
  }
};

// As many slots as a queue has entries: none available is the contract's kAgain. Not thread-safe.
class RequestSlots {
 public:
  // `peers`: the address vector of the endpoint. Looked at until set_closed.
  RequestSlots(std::size_t depth, const VectorCore* peers)
      : slots_(std::make_unique<RequestSlot[]>(depth)), depth_(depth), peers_(peers) {
    for (std::size_t i = depth; i > 0; --i) {
      slots_[i - 1].owner = this;
      Push(slots_[i - 1]);
    }
  }

  std::size_t in_use() const { return in_use_; }
  std::size_t available() const { return depth_ - in_use_; }
  bool full() const { return free_ == nullptr; }

  // Null after set_closed.
  const VectorCore* peers() const { return peers_; }

  // The endpoint is closed: what its requests came to interests nobody any more.
  bool closed() const { return peers_ == nullptr; }
  void set_closed() { peers_ = nullptr; }

  // REQUIRES: one is available.
  RequestSlot& Take(std::optional<Context> context, OperationKind kind) {
    RequestSlot& slot = *free_;
    free_ = slot.next_free;
    // By parts: the optional was just written by parts, and copied as a whole it would wait for
    // them.
    slot.context = context.value_or(Context{});
    slot.signalled = context.has_value();
    slot.kind = kind;
    slot.multi = false;
    ++in_use_;
    return slot;
  }

  void Release(RequestSlot& slot) {
    Push(slot);
    --in_use_;
  }

  // A request under way with this context; null when there is none. Looks at every slot.
  RequestSlot* Find(Context context) {
    for (std::size_t i = 0; i < depth_; ++i) {
      if (slots_[i].signalled && slots_[i].context == context) return &slots_[i];
    }
    return nullptr;
  }

 private:
  void Push(RequestSlot& slot) {
    slot.signalled = false;
    slot.next_free = free_;
    free_ = &slot;
  }

  std::unique_ptr<RequestSlot[]> slots_;
  std::size_t depth_;
  RequestSlot* free_ = nullptr;
  std::size_t in_use_ = 0;
  const VectorCore* peers_;
};

}  // namespace fabric::libfabric

#endif  // FABRIC_LIBFABRIC_REQUEST_SLOTS_H_
