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
[[gnu::always_inline]] inline bool Claim(RequestSlot* slot, std::uint64_t flags, bool ended,
                                         Completion& completion) {
  std::construct_at(&completion);  // in place: assigning a temporary stalls on its copy
  if (slot == nullptr) {
    completion.kind = KindOf(flags);
    return true;
  }
  completion.kind = (flags & FI_REMOTE_WRITE) != 0 ? OperationKind::kRemoteWrite : slot->kind;
  if (slot->signalled) completion.context = slot->context;
  RequestSlots& owner = *slot->owner;
  if (slot->multi) [[unlikely]] {
    // Its buffer takes more messages until the provider says that it is released.
    if (!ended) return !owner.closed();
    completion.buffer_released = true;
  }
  owner.Release(*slot);
  return !owner.closed();
}

bool IsReceive(OperationKind kind) {
  return kind == OperationKind::kReceive || kind == OperationKind::kTaggedReceive;
}

// What came from a peer into the receive of `slot`. `source`: null where it is not told.
template <typename Entry>
void TellReceive(const Entry& entry, const RequestSlot& slot, const fi_addr_t* source,
                 Completion& completion) {
  if (slot.multi) completion.data = static_cast<std::byte*>(entry.buf);
  if (source != nullptr && *source != FI_ADDR_NOTAVAIL) {
    completion.source = slot.owner->peers()->PeerOf(*source);
  }
  if constexpr (requires { entry.tag; }) {
    if (slot.kind == OperationKind::kTaggedReceive) completion.tag = entry.tag;
  }
}

// A success. False: nobody is to hear of it. Inlined by force, as Claim is: an entry has a few
// nanoseconds, and calls would be half of them.
template <typename Entry>
[[gnu::always_inline]] inline bool Translate(const Entry& entry, const fi_addr_t* source,
                                             bool immediates_name_receives,
                                             Completion& completion) {
  RequestSlot* slot = SlotOf(entry.op_context, entry.flags, immediates_name_receives);
  if (!Claim(slot, entry.flags, (entry.flags & FI_MULTI_RECV) != 0, completion)) return false;
  if (slot != nullptr) {
    if (!completion.context.has_value()) return false;  // unsignalled
    if (!IsReceive(slot->kind)) return true;
    TellReceive(entry, *slot, source, completion);
  } else if (completion.kind != OperationKind::kRemoteWrite &&
             completion.kind != OperationKind::kReceive) {
    return true;  // a stray
  }
  completion.length_bytes = entry.len;
  if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) {
    completion.immediate = static_cast<std::uint32_t>(entry.data);
  }
  return true;
}

// `sources`: as many, or null where they are not told. Returns how many completions they make. A
// function of its own: what it keeps in registers, polls in vain need not save.
template <typename Entry>
[[gnu::noinline]] std::size_t TranslateAll(std::span<const Entry> entries, const fi_addr_t* sources,
                                           bool immediates_name_receives, Completion* completions) {
  Completion* next = completions;
  for (const Entry& entry : entries) {
    const fi_addr_t* source = sources == nullptr ? nullptr : sources + (&entry - entries.data());
    if (Translate(entry, source, immediates_name_receives, *next)) ++next;
  }
  return static_cast<std::size_t>(next - completions);
}

}  // namespace

template <typename Entry>
[[gnu::always_inline]] inline ReadResult LibfabricCompletionQueue::ReadAs(
    std::span<Completion> entries) {
  std::array<Entry, kBatch> raw;  // both filled by the library
  std::array<fi_addr_t, kBatch> sources;
  const QueueCore& core = *core_;
  const std::size_t most = std::min(entries.size(), raw.size());
  const ssize_t got = core.tells_source
                          ? fi_cq_readfrom(core.queue.get(), raw.data(), most, sources.data())
                          : fi_cq_read(core.queue.get(), raw.data(), most);
  if (got > 0) {
    const std::span<const Entry> taken(raw.data(), static_cast<std::size_t>(got));
    return {TranslateAll(taken, core.tells_source ? sources.data() : nullptr,
                         core.immediates_name_receives, entries.data()),
            ErrorCode::kOk};
  }
  if (got == -FI_EAGAIN || got == 0) {
    core.domain->events.Look();
    return {};
  }
  if (got == -FI_EAVAIL) return ReadError(entries.front());
  return {0, FromErrno(static_cast<int>(got))};
}

ReadResult LibfabricCompletionQueue::Read(std::span<Completion> entries) {
  if (core_ == nullptr) return {0, ErrorCode::kClosed};
  if (entries.empty()) return {};
  return core_->tagged ? ReadAs<fi_cq_tagged_entry>(entries) : ReadAs<fi_cq_data_entry>(entries);
}

ReadResult LibfabricCompletionQueue::ReadError(Completion& completion) {
  std::array<char, 512> words{};
  fi_cq_err_entry entry{};
  entry.err_data = words.data();
  entry.err_data_size = words.size() - 1;  // stays terminated, whatever the provider writes
  const ssize_t got = fi_cq_readerr(core_->queue.get(), &entry, 0);
  if (got == -FI_EAGAIN || got == 0) return {};
  if (got < 0) return {0, FromErrno(static_cast<int>(got))};
  RequestSlot* slot = SlotOf(entry.op_context, entry.flags, core_->immediates_name_receives);
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
