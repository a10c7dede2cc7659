// The operations in flight on one completion queue. Each has a slot; the slot's number and
// generation are the context that the NIC hands back.
//
// Slots, not coroutine frames, are what the NIC's completions refer to. A coroutine may be
// destroyed at any time; the slot lives on with a share in the buffer, until the completion was
// read or the endpoint was closed. The generation tells a late completion from one of the operation
// that uses the slot now.

#ifndef DRYDOCK_FABRIC_ASYNC_OPERATION_SLOTS_H_
#define DRYDOCK_FABRIC_ASYNC_OPERATION_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "drydock/coro/slot_table.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/orphan.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::async {

// The waiter of an operation. Lives in the awaiting coroutine's frame.
class OperationWaiter {
 public:
  // The operation ended; the slot is free already.
  virtual void Resolve(const Completion& completion) = 0;

 protected:
  ~OperationWaiter() = default;
};

// Not thread-safe.
class OperationSlots {
 public:
  // Takes a slot for an operation of `endpoint` (any address that identifies it).
  Context Acquire(OperationWaiter& waiter, BufferRef buffer, const void* endpoint);

  // The operation was never accepted: nothing will come.
  void Release(Context context);

  // The waiter is gone. The slot keeps the buffer until the completion comes, and remembers what a
  // report of it says; absent: the operation is no orphan (orphan.h). `heir`, unless null, is
  // resolved in the waiter's place.
  void Abandon(Context context, const std::optional<Orphan>& orphan,
               OperationWaiter* heir = nullptr);

  // The heir goes: operations that were left to it are left to nobody.
  void Disinherit(const OperationWaiter& heir);

  // A completion came: frees its slot and resolves its waiter or heir, if there is one. False when
  // no operation in flight has this context: a late completion, which touches nothing.
  bool Complete(Context context, const Completion& completion);

  // `endpoint` was closed, nothing lands any more: resolves every waiter and heir of its operations
  // with kCanceled.
  void CancelAll(const void* endpoint);

  // Operations that wait for their completion, abandoned ones included.
  std::size_t in_flight() const { return slots_.taken(); }
  // Of these, those whose waiter is gone.
  std::size_t abandoned() const { return abandoned_.size(); }
  // The orphans among them, as in orphan.h: all, and those that `endpoint` leaves if it closes now.
  std::string DescribeOrphans(coro::Time now) const;
  std::string DescribeOrphansOf(const void* endpoint, coro::Time now) const;

 private:
  struct Slot {
    OperationWaiter* waiter = nullptr;
    BufferRef buffer;
    const void* endpoint = nullptr;
  };
  struct Abandoned {
    const void* endpoint;
    std::optional<Orphan> orphan;
    OperationWaiter* heir;
  };

  // Gives back the share in the buffer of a slot that was freed, and returns its waiter or heir.
  OperationWaiter* Empty(std::uint64_t name, Slot& slot);

  // Returns the heir. Not inline: abandoned operations are rare.
  [[gnu::noinline]] OperationWaiter* Forget(std::uint64_t name);

  coro::SlotTable<Slot> slots_;
  std::map<std::uint64_t, Abandoned> abandoned_;  // by the names of their slots
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_OPERATION_SLOTS_H_
