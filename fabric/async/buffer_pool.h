// A pool of buffers of one size from one registration, lent again and again.
//
//   BufferPool pool(BufferSlice(memory), 4096);
//   CO_ASSIGN_OR_RETURN(BufferRef buffer, co_await pool.Take(deadline));
//   ... co_await endpoint.Send(buffer, peer) ...
//
// Registering is slow and pins memory, so programs register once. The danger is to hand out a
// buffer that the NIC still uses: an operation that was given up, or whose coroutine is gone, reads
// or writes it all the same. Here a buffer is back when its last share is gone, and an operation
// has a share until its completion was read.

#ifndef DRYDOCK_FABRIC_ASYNC_BUFFER_POOL_H_
#define DRYDOCK_FABRIC_ASYNC_BUFFER_POOL_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/domain.h"

namespace drydock::fabric::async {

// Not thread-safe. May die before the buffers that it lent: their memory stays registered until the
// last of them is back.
class BufferPool {
 public:
  // Cuts `memory` into buffers of `buffer_bytes`; what is left at its end is not used. No buffer is
  // aligned beyond what memory and size give. REQUIRES: there is room for one, at least; nothing
  // else uses the memory.
  BufferPool(const BufferSlice& memory, std::size_t buffer_bytes);

  // Registers memory for `count` buffers. Errors: those of Domain::RegisterMemory.
  static absl::StatusOr<BufferPool> Open(Domain& domain, std::size_t count,
                                         std::size_t buffer_bytes, Access access = Access::kAll);

  // A buffer, the one that came back last, with the bytes it had then. Waits while all are lent;
  // the task that waits longest is served first. kDeadlineExceeded: none came back in time.
  coro::Task<absl::StatusOr<BufferRef>> Take(coro::Time deadline = coro::kNever);

  // A buffer, or an empty reference where Take would have to wait.
  BufferRef TryTake();

  std::size_t count() const;
  std::size_t free() const;  // that neither the program nor the NIC has
  std::size_t buffer_bytes() const;

 private:
  struct Core;
  class Lease;

  std::shared_ptr<Core> core_;
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_BUFFER_POOL_H_
