#include "drydock/fabric/async/buffer_pool.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/held_buffer.h"
#include "drydock/fabric/async/quota.h"

namespace drydock::fabric::async {

// The state that the pool shares with the buffers that it lent.
struct BufferPool::Core {
  Core(const BufferSlice& all, std::size_t each)
      : memory(all), buffer_bytes(each), quota(all.bytes().size() / each) {
    for (std::size_t i = quota.most(); i > 0; --i) idle.push_back(i - 1);
  }

  // With a share in the core.
  static std::shared_ptr<Quota> QuotaOf(const std::shared_ptr<Core>& core) {
    return std::shared_ptr<Quota>(core, &core->quota);
  }
  static BufferRef Lend(std::shared_ptr<Core> core, Quota::Taken taken);

  const BufferSlice memory;
  const std::size_t buffer_bytes;
  std::vector<std::size_t> idle;  // the last one is lent next
  Quota quota;
};

// Puts a buffer back when it goes.
class BufferPool::Lease {
 public:
  Lease(std::shared_ptr<Core> core, std::size_t index, Quota::Taken taken)
      : core_(std::move(core)), index_(index), taken_(std::move(taken)) {}
  Lease(Lease&&) = default;
  Lease& operator=(Lease&&) = delete;
  ~Lease() {
    if (taken_) core_->idle.push_back(index_);
  }

 private:
  std::shared_ptr<Core> core_;
  std::size_t index_;
  Quota::Taken taken_;  // goes after the index is back: a task may wait for it
};

BufferRef BufferPool::Core::Lend(std::shared_ptr<Core> core, Quota::Taken taken) {
  const std::size_t index = core->idle.back();
  core->idle.pop_back();
  const BufferRef& whole = core->memory.buffer();
  const auto begin = static_cast<std::size_t>(core->memory.local().data - whole->bytes().data());
  BufferSlice piece(whole, begin + index * core->buffer_bytes, core->buffer_bytes);
  return HoldWhileUsed(std::move(piece), Lease(std::move(core), index, std::move(taken)));
}

BufferPool::BufferPool(const BufferSlice& memory, std::size_t buffer_bytes) {
  DD_CHECK(buffer_bytes > 0 && buffer_bytes <= memory.bytes().size(), "a pool without a buffer");
  core_ = std::make_shared<Core>(memory, buffer_bytes);
}

absl::StatusOr<BufferPool> BufferPool::Open(Domain& domain, std::size_t count,
                                            std::size_t buffer_bytes, Access access) {
  std::size_t length_bytes = 0;
  if (count == 0 || buffer_bytes == 0 ||
      __builtin_mul_overflow(count, buffer_bytes, &length_bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("open buffer pool: ", count, " buffers of ", buffer_bytes, " bytes"));
  }
  ASSIGN_OR_RETURN(const BufferRef memory, AllocateBuffer(domain, length_bytes, access));
  return BufferPool(memory, buffer_bytes);
}

coro::Task<absl::StatusOr<BufferRef>> BufferPool::Take(coro::Time deadline) {
  const std::shared_ptr<Core> core = core_;
  std::optional<Quota::Taken> taken = co_await Quota::Take(Core::QuotaOf(core), deadline);
  if (!taken.has_value()) {
    co_return absl::DeadlineExceededError(
        absl::StrCat("take a buffer: all ", core->quota.most(), " are in use"));
  }
  co_return Core::Lend(core, *std::move(taken));
}

BufferRef BufferPool::TryTake() {
  std::optional<Quota::Taken> taken = Quota::TryTake(Core::QuotaOf(core_));
  if (!taken.has_value()) return BufferRef();
  return Core::Lend(core_, *std::move(taken));
}

std::size_t BufferPool::count() const { return core_->quota.most(); }
std::size_t BufferPool::free() const { return core_->quota.free(); }
std::size_t BufferPool::buffer_bytes() const { return core_->buffer_bytes; }

}  // namespace drydock::fabric::async
