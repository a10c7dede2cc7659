#include "drydock/apps/common/writer_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/node.h"

namespace drydock::apps {
namespace {

using fabric::async::BufferRef;

// How often to look whether a write that was given up has ended.
constexpr coro::Duration kLook = std::chrono::milliseconds(10);

bool NeedsOwnEndpoints(const fabric::NicInfo& nic) { return nic.provider == "shm"; }

// Whether an operation that was given up still has a share in it.
bool InUse(const Writer& writer) {
  return std::any_of(writer.regions.begin(), writer.regions.end(),
                     [](const BufferRef& region) { return region.use_count() > 1; });
}

}  // namespace

WriterPool::WriterPool(fabric::async::Node& node, WriterPoolOptions options)
    : node_(node), options_(std::move(options)), own_endpoints_(NeedsOwnEndpoints(node.nic())) {}

absl::Status WriterPool::Prepare() {
  ASSIGN_OR_RETURN(Writer writer, Make());
  idle_.push_back(std::move(writer));
  return absl::OkStatus();
}

coro::Task<absl::StatusOr<WriterPool::Lease>> WriterPool::Borrow(coro::Time deadline) {
  for (;;) {
    Reclaim();
    if (!idle_.empty() || MakeRoom()) break;
    if (lent_ > 0 && co_await AwaitWriter(deadline)) continue;
    Reclaim();
    if (idle_.empty()) {
      co_return absl::ResourceExhaustedError(absl::StrCat(
          "the server is busy: it serves ", options_.most, " transfers at a time, and ",
          stuck_.size(), " of them are held by writes that do not end"));
    }
  }
  const absl::Status ready = MakeReady();
  if (!ready.ok()) returned_.NotifyOne();  // the next one may have more luck
  CO_RETURN_IF_ERROR(ready);
  Writer writer = std::move(idle_.back());
  idle_.pop_back();
  ++lent_;
  co_return Lease(*this, std::move(writer));
}

// The end of a write that holds a writer notifies nobody.
coro::Task<bool> WriterPool::AwaitWriter(coro::Time deadline) {
  const coro::Time now = node_.loop().Now();
  if (now >= deadline) co_return false;
  const coro::Time look = stuck_.empty() ? deadline : coro::After(now, kLook);
  co_await returned_.Wait(std::min(deadline, look));
  co_return true;
}

absl::Status WriterPool::MakeReady() {
  if (idle_.empty()) RETURN_IF_ERROR(Prepare());
  if (!own_endpoints_) return absl::OkStatus();
  ASSIGN_OR_RETURN(idle_.back().own, node_.OpenEndpoint());
  return absl::OkStatus();
}

absl::StatusOr<Writer> WriterPool::Make() {
  Writer writer;
  for (std::size_t i = 0; i < options_.regions; ++i) {
    ASSIGN_OR_RETURN(BufferRef region, options_.allocate(options_.region_bytes));
    writer.regions.push_back(std::move(region));
  }
  return writer;
}

void WriterPool::Return(Writer writer) {
  --lent_;
  if (InUse(writer)) {
    stuck_.push_back(std::move(writer));
  } else {
    idle_.push_back(std::move(writer));
  }
  returned_.NotifyOne();
}

std::size_t WriterPool::CountStuck() {
  Reclaim();
  return stuck_.size();
}

void WriterPool::Reclaim() {
  for (std::size_t i = 0; i < stuck_.size();) {
    if (InUse(stuck_[i])) {
      ++i;
      continue;
    }
    idle_.push_back(std::move(stuck_[i]));
    stuck_.erase(stuck_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool WriterPool::MakeRoom() {
  if (lent_ + stuck_.size() < options_.most) return true;
  if (!own_endpoints_ || stuck_.empty()) return false;
  stuck_.erase(stuck_.begin());  // closes its endpoint, which ends its writes
  return true;
}

}  // namespace drydock::apps
