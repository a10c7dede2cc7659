#include <poll.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "coro/steady_clock.h"
#include "fabric/libfabric/errno_mapping.h"
#include "fabric/libfabric/libfabric_domain.h"
#include "fabric/shared_core.h"

namespace fabric::libfabric {
namespace {

// Entries that one Read takes from the library at most: enough to amortise the call, little enough
// for the stack.
constexpr std::size_t kBatch = 32;

OperationKind KindOf(std::uint64_t flags) {
  if ((flags & FI_REMOTE_WRITE) != 0) return OperationKind::kRemoteWrite;
  if ((flags & FI_RECV) != 0) return OperationKind::kReceive;
  if ((flags & FI_READ) != 0) return OperationKind::kRead;
  if ((flags & FI_WRITE) != 0) return OperationKind::kWrite;
  return OperationKind::kSend;
}

// The slot that an entry belongs to; null for a peer's write that consumed no receive, and for
// strays.
RequestSlot* SlotOf(void* op_context, std::uint64_t flags, bool receives_consumed) {
  if ((flags & FI_REMOTE_WRITE) != 0 && !receives_consumed) return nullptr;
  return RequestSlot::FromContext(op_context);
}

// What successes and failures have in common: frees the slot and fills context and kind. False when
// the program has closed the endpoint.
bool Claim(RequestSlot* slot, std::uint64_t flags, Completion& completion) {
  completion = Completion();
  completion.kind = KindOf(flags);
  if (slot == nullptr) return true;
  if (completion.kind != OperationKind::kRemoteWrite) completion.kind = slot->kind;
  completion.context = slot->context;
  slot->owner->Release(*slot);
  return !slot->owner->closed();
}

bool Translate(const fi_cq_data_entry& entry, bool receives_consumed, Completion& completion) {
  RequestSlot* slot = SlotOf(entry.op_context, entry.flags, receives_consumed);
  if (!Claim(slot, entry.flags, completion)) return false;
  if (slot != nullptr && !completion.context.has_value())
    return false;  // unsignalled, and a success
  const bool from_peer =
      completion.kind == OperationKind::kReceive || completion.kind == OperationKind::kRemoteWrite;
  if (from_peer) {
    completion.length_bytes = entry.len;
    if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) {
      completion.immediate = static_cast<std::uint32_t>(entry.data);
    }
  }
  return true;
}

}  // namespace

ReadResult LibfabricCompletionQueue::Read(std::span<Completion> entries) {
  if (core_ == nullptr) return {0, ErrorCode::kClosed};
  if (entries.empty()) return {};
  std::array<fi_cq_data_entry, kBatch> raw;  // filled by the library
  const ssize_t got =
      fi_cq_read(core_->queue.get(), raw.data(), std::min(entries.size(), raw.size()));
  if (got == -FI_EAGAIN || got == 0) return {};
  if (got == -FI_EAVAIL) return ReadError(entries.front());
  if (got < 0) return {0, FromErrno(static_cast<int>(got))};
  const bool receives_consumed = (core_->domain->nic.info->mode & FI_RX_CQ_DATA) != 0;
  ReadResult result;
  for (ssize_t i = 0; i < got; ++i) {
    if (Translate(raw[static_cast<std::size_t>(i)], receives_consumed, entries[result.count])) {
      ++result.count;
    }
  }
  return result;
}

ReadResult LibfabricCompletionQueue::ReadError(Completion& completion) {
  std::array<char, 512> words{};
  fi_cq_err_entry entry{};
  entry.err_data = words.data();
  entry.err_data_size = words.size() - 1;  // stays terminated, whatever the provider writes
  const ssize_t got = fi_cq_readerr(core_->queue.get(), &entry, 0);
  if (got == -FI_EAGAIN || got == 0) return {};
  if (got < 0) return {0, FromErrno(static_cast<int>(got))};
  const bool receives_consumed = (core_->domain->nic.info->mode & FI_RX_CQ_DATA) != 0;
  RequestSlot* slot = SlotOf(entry.op_context, entry.flags, receives_consumed);
  if (!Claim(slot, entry.flags, completion)) return {};
  completion.error = FromErrorEntry(core_->domain->is_efa, entry.err, entry.prov_errno);
  completion.provider_error = entry.prov_errno;
  const char* text =
      fi_cq_strerror(core_->queue.get(), entry.prov_errno, entry.err_data, nullptr, 0);
  last_error_ = absl::StrCat(fi_strerror(std::abs(entry.err)), "; provider error ",
                             entry.prov_errno, text == nullptr ? "" : absl::StrCat(": ", text));
  return {1, ErrorCode::kOk};
}

std::string LibfabricCompletionQueue::ErrorText(const Completion& completion) {
  return completion.ok() ? "success" : last_error_;
}

absl::Status LibfabricCompletionQueue::Close() { return CloseShared(core_, "completion queue"); }

void* LibfabricCompletionQueue::QueryPower(const PowerId& power) {
  if (&power != &BlockingWait::kPower || !wait_descriptor_.has_value()) return nullptr;
  return static_cast<BlockingWait*>(this);
}

void LibfabricCompletionQueue::Wait(coro::Time deadline) {
  if (core_ == nullptr) return;
  DomainCore& domain = *core_->domain;
  if (domain.api.TryWait(domain.fabric.get(), &core_->queue.get()->fid) != 0) return;
  const coro::Time now = coro::SteadyClock().Now();
  if (deadline <= now) return;
  pollfd descriptor{*wait_descriptor_, POLLIN, 0};
  if (deadline == coro::kNever) {
    poll(&descriptor, 1, -1);
    return;
  }
  const auto nanoseconds = (deadline - now).count();
  const timespec limit{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  ppoll(&descriptor, 1, &limit, nullptr);
}

}  // namespace fabric::libfabric
