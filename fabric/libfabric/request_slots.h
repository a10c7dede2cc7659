// The storage that libfabric wants for every request under way (FI_CONTEXT, FI_CONTEXT2), and our
// own record of the request.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_REQUEST_SLOTS_H_
#define DRYDOCK_FABRIC_LIBFABRIC_REQUEST_SLOTS_H_

#include <rdma/fabric.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "drydock/fabric/operation.h"

namespace drydock::fabric::libfabric {

class RequestSlots;
struct VectorCore;

inline bool IsReceive(OperationKind kind) {
  return kind == OperationKind::kReceive || kind == OperationKind::kTaggedReceive;
}

// How much of a request's success is reported.
enum class Report : std::uint8_t {
  kNothing,  // unsignalled
  kContext,  // its context and its kind, and that is all
  kMore,     // of a receive, what arrived; of a closed endpoint, nothing
};

// A receive that takes several messages: one completion does not end it.
enum class Multi : std::uint8_t {
  kNo,
  kOpen,     // further messages may begin to arrive
  kLossy,    // the same, and one of so far unknown length was lost
  kClosing,  // none may, and those that are under way have not ended
  kEnded,    // told as released, and the slot given back: what still comes is dropped
};

// Four bytes, written at once.
struct What {
  Report report = Report::kNothing;
  OperationKind kind = OperationKind::kSend;
  Multi multi = Multi::kNo;
  bool taken_back = false;  // a receive that the program has cancelled
};

// One request. Its address is the op_context that the library sees: the provider writes into
// `provider_memory` until the completion was read. Free, only `next_free`, `owner` and ended() mean
// anything: a slot is written once for each request, and read once.
struct RequestSlot {
  fi_context2 provider_memory;
  Context context;
  What what;
  union {
    RequestSlot* next_free;
    // Of a multi receive: the end of what has arrived, if it lies in one piece; closing, the bytes
    // that have not.
    std::uintptr_t bytes;
  };
  RequestSlots* owner;

  bool signalled() const { return what.report != Report::kNothing; }
  // A multi receive that was told as released. Of one that was taken back or lost a message nobody
  // knows whether others are under way, so an entry may still come, which must not touch `bytes`.
  bool ended() const { return what.multi == Multi::kEnded; }

  // The request is a multi receive into this buffer.
  void OpenMulti(const std::byte* buffer) {
    what.multi = Multi::kOpen;
    bytes = reinterpret_cast<std::uintptr_t>(buffer);
  }
  // `length` bytes of a multi receive's have arrived, up to `end`; `last`: the provider says that
  // no message will begin after this one. Returns whether all have ended: tcp, which fetches long
  // messages, says it while some are under way. REQUIRES: !ended().
  bool EndsMulti(const void* end, std::size_t length, bool last) {
    if (what.multi == Multi::kClosing) {
      bytes -= std::min<std::uintptr_t>(bytes, length);
      return bytes == 0;
    }
    bytes += length;
    if (!last || what.multi == Multi::kLossy) return last;
    what.multi = Multi::kClosing;
    const auto until = reinterpret_cast<std::uintptr_t>(end);
    bytes = until > bytes ? until - bytes : 0;
    return bytes == 0;
  }
  // A message of a multi receive's has failed, which began at `begin`, or null: nobody knows.
  // Returns whether the receive is to be told as released. REQUIRES: !ended().
  bool FailsMulti(const void* begin, bool last) {
    if (what.multi == Multi::kClosing) return true;
    if (last) return EndsMulti(begin, 0, true);
    what.multi = Multi::kLossy;
    return false;
  }

  static RequestSlot* FromContext(void* op_context) {
    return static_cast<RequestSlot*>(op_context);
  }
};

// As many slots as a queue has entries: none available is the contract's kAgain. The last one that
// was given back is taken first, because it is in the cache. Not thread-safe; begins a cache line,
// because its neighbour in memory may be another thread's.
class alignas(64) RequestSlots {
 public:
  // `peers`: the address vector of the endpoint. Looked at until Orphan.
  RequestSlots(std::size_t depth, const VectorCore* peers)
      : slots_(std::make_unique<RequestSlot[]>(depth)),
        depth_(depth),
        providers_(std::max<std::size_t>(1, depth / 32)),
        peers_(peers) {
    for (std::size_t i = depth; i > 0; --i) {
      slots_[i - 1].owner = this;
      Release(slots_[i - 1]);
    }
  }

  bool full() const { return free_ == nullptr; }
  // So few are left that the provider may refuse the next request, whose queue holds packets of its
  // own, too: the handshake with a peer, for one.
  bool nearly_full() const { return left_ < providers_; }
  // No entry will come for any: all are free, and none is an ended multi receive's. Looks at each.
  bool all_done() const {
    const RequestSlot* slot = free_;
    std::size_t count = 0;
    for (; slot != nullptr && !slot->ended(); slot = slot->next_free) ++count;
    return count == depth_;
  }

  // Null after Orphan.
  const VectorCore* peers() const { return peers_; }

  // The endpoint is closed: the results of its requests are dropped.
  bool closed() const { return peers_ == nullptr; }
  void Orphan() {
    peers_ = nullptr;
    for (std::size_t i = 0; i < depth_; ++i) {
      if (slots_[i].what.report == Report::kContext) slots_[i].what.report = Report::kMore;
    }
  }

  // REQUIRES: one is available.
  RequestSlot& Take(std::optional<Context> context, OperationKind kind) {
    const Report report = IsReceive(kind) ? Report::kMore : Report::kContext;
    return Take(context.value_or(Context{}),
                {context.has_value() ? report : Report::kNothing, kind});
  }
  RequestSlot& Take(Context context, What what) {
    RequestSlot& slot = *free_;
    free_ = slot.next_free;
    --left_;
    slot.context = context;
    slot.what = what;
    return slot;
  }

  void Release(RequestSlot& slot) {
    if (free_ == nullptr) [[unlikely]]
      last_ = &slot;
    slot.next_free = free_;
    free_ = &slot;
    ++left_;
  }

  // Gives back the slot of a multi receive that is told as released. It is the last to be taken
  // again: until then an entry that still comes for it is known, and dropped.
  void ReleaseEnded(RequestSlot& slot) {
    slot.what.multi = Multi::kEnded;
    slot.next_free = nullptr;
    (free_ == nullptr ? free_ : last_->next_free) = &slot;
    last_ = &slot;
    ++left_;
  }

  // A request under way with this context that was not taken back, and in a slot behind `before` if
  // that is given; null when there is none. Looks at every slot.
  RequestSlot* Find(Context context, const RequestSlot* before = nullptr) {
    const std::size_t first =
        before == nullptr ? 0 : static_cast<std::size_t>(before - slots_.get()) + 1;
    for (std::size_t i = first; i < depth_; ++i) {
      RequestSlot& slot = slots_[i];
      const bool named = slot.signalled() && slot.context == context;
      if (named && !slot.what.taken_back && !IsFree(slot)) return &slot;
    }
    return nullptr;
  }

 private:
  bool IsFree(const RequestSlot& wanted) const {
    const RequestSlot* slot = free_;
    while (slot != nullptr && slot != &wanted) slot = slot->next_free;
    return slot != nullptr;
  }

  std::unique_ptr<RequestSlot[]> slots_;
  std::size_t depth_;
  std::size_t providers_;  // entries that it may take for itself
  RequestSlot* free_ = nullptr;
  RequestSlot* last_ = nullptr;  // of the free ones; where there is none, it means nothing
  std::size_t left_ = 0;
  const VectorCore* peers_;
};

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_REQUEST_SLOTS_H_
