#include <poll.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>

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
RequestSlot* SlotOf(void* op_context, std::uint64_t flags, bool immediates_name_receives) {
  if ((flags & FI_REMOTE_WRITE) != 0 && !immediates_name_receives) return nullptr;
  return RequestSlot::FromContext(op_context);
}

// What successes and failures have in common: frees the slot and fills context and kind. False when
// the program has closed the endpoint.
bool Claim(RequestSlot* slot, std::uint64_t flags, bool ended, Completion& completion) {
  std::construct_at(&completion);  // in place: assigning a temporary stalls on its copy
  completion.kind = KindOf(flags);
  if (slot == nullptr) return true;
  if (completion.kind != OperationKind::kRemoteWrite) completion.kind = slot->kind;
  completion.context = slot->context;
  const bool closed = slot->owner->closed();
  if (slot->multi) {
    // Its buffer takes more messages until the provider says that it is released.
    if (!ended) return !closed;
    completion.buffer_released = true;
  }
  slot->owner->Release(*slot);
  return !closed;
}

bool IsFromPeer(OperationKind kind) {
  return kind == OperationKind::kReceive || kind == OperationKind::kRemoteWrite ||
         kind == OperationKind::kTaggedReceive;
}

// `source`: FI_ADDR_NOTAVAIL where it is not told.
template <typename Entry>
bool Translate(const Entry& entry, fi_addr_t source, bool immediates_name_receives,
               Completion& completion) {
  RequestSlot* slot = SlotOf(entry.op_context, entry.flags, immediates_name_receives);
  const bool multi = slot != nullptr && slot->multi;
  if (!Claim(slot, entry.flags, (entry.flags & FI_MULTI_RECV) != 0, completion)) return false;
  if (slot != nullptr && !completion.context.has_value())
    return false;  // unsignalled, and a success
  if (!IsFromPeer(completion.kind)) return true;
  completion.length_bytes = entry.len;
  if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) {
    completion.immediate = static_cast<std::uint32_t>(entry.data);
  }
  if (multi) completion.data = static_cast<std::byte*>(entry.buf);
  if (slot != nullptr && source != FI_ADDR_NOTAVAIL) {
    completion.source = slot->owner->peers()->PeerOf(source);
  }
  if constexpr (requires { entry.tag; }) {
    if (completion.kind == OperationKind::kTaggedReceive) completion.tag = entry.tag;
  }
  return true;
}

}  // namespace

ReadResult LibfabricCompletionQueue::Read(std::span<Completion> entries) {
  if (core_ == nullptr) return {0, ErrorCode::kClosed};
  if (entries.empty()) return {};
  // In the format that the queue was opened with.
  if (core_->domain->nic.described.capabilities.Has(Capability::kTaggedMessages)) {
    return ReadAs<fi_cq_tagged_entry>(entries);
  }
  return ReadAs<fi_cq_data_entry>(entries);
}

template <typename Entry>
ReadResult LibfabricCompletionQueue::ReadAs(std::span<Completion> entries) {
  std::array<Entry, kBatch> raw;  // both filled by the library
  std::array<fi_addr_t, kBatch> sources;
  const std::size_t most = std::min(entries.size(), raw.size());
  const bool tells_source = core_->tells_source;
  const ssize_t got = tells_source
                          ? fi_cq_readfrom(core_->queue.get(), raw.data(), most, sources.data())
                          : fi_cq_read(core_->queue.get(), raw.data(), most);
  if (got == -FI_EAGAIN || got == 0) {
    core_->domain->events.Look();
    return {};
  }
  if (got == -FI_EAVAIL) return ReadError(entries.front());
  if (got < 0) return {0, FromErrno(static_cast<int>(got))};
  ReadResult result;
  for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
    const fi_addr_t source = tells_source ? sources[i] : FI_ADDR_NOTAVAIL;
    if (Translate(raw[i], source, core_->domain->immediates_name_receives, entries[result.count])) {
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
  RequestSlot* slot =
      SlotOf(entry.op_context, entry.flags, core_->domain->immediates_name_receives);
  const bool ended = (entry.flags & FI_MULTI_RECV) != 0 || std::abs(entry.err) == FI_ECANCELED;
  if (!Claim(slot, entry.flags, ended, completion)) return {};
  completion.error = FromErrorEntry(core_->domain->is_efa, entry.err, entry.prov_errno);
  completion.provider_error = entry.prov_errno;
  if (completion.kind == OperationKind::kTaggedReceive) completion.tag = entry.tag;
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
