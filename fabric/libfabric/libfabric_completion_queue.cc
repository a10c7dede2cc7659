#include <poll.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/fabric/libfabric/errno_mapping.h"
#include "drydock/fabric/libfabric/libfabric_domain.h"
#include "drydock/fabric/libfabric/library.h"
#include "drydock/fabric/libfabric/spin_pause.h"
#include "drydock/fabric/shared_core.h"

namespace drydock::fabric::libfabric {
namespace {

// A peer's write. shm of libfabric 2.x says no more of one than that it had an immediate (prov/shm,
// smr_rx_cq_flags).
bool IsPeersWrite(std::uint64_t flags) {
  constexpr std::uint64_t kOwn = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
  return (flags & FI_REMOTE_WRITE) != 0 ||
         (flags & (FI_REMOTE_CQ_DATA | kOwn)) == FI_REMOTE_CQ_DATA;
}

OperationKind KindOf(std::uint64_t flags) {
  if (IsPeersWrite(flags)) return OperationKind::kRemoteWrite;
  if ((flags & FI_RECV) != 0) return OperationKind::kReceive;
  if ((flags & FI_READ) != 0) return OperationKind::kRead;
  if ((flags & FI_WRITE) != 0) return OperationKind::kWrite;
  return OperationKind::kSend;
}

// The slot that an entry belongs to; null for a peer's write that consumed no receive, and for
// strays.
RequestSlot* SlotOf(void* op_context, std::uint64_t flags, bool immediates_name_receives) {
  if (IsPeersWrite(flags) && !immediates_name_receives) return nullptr;
  return RequestSlot::FromContext(op_context);
}

bool IsMulti(const RequestSlot* slot) { return slot != nullptr && slot->what.multi != Multi::kNo; }

// The entry comes after the end of its multi receive: it is dropped.
bool IsLate(const RequestSlot* slot) { return slot != nullptr && slot->ended(); }

// The common part of successes and failures: frees the slot and fills context and kind. `ended`: of
// a multi receive, this is its last entry. False when the program has closed the endpoint.
bool Claim(RequestSlot* slot, std::uint64_t flags, bool ended, Completion& completion) {
  std::construct_at(&completion);  // in place: assigning a temporary stalls on its copy
  if (slot == nullptr) {
    completion.kind = KindOf(flags);
    return true;
  }
  completion.kind = IsPeersWrite(flags) ? OperationKind::kRemoteWrite : slot->what.kind;
  if (slot->signalled()) completion.context = slot->context;
  RequestSlots& owner = *slot->owner;
  if (IsMulti(slot)) {
    if (!ended) return !owner.closed();
    completion.buffer_released = true;
    owner.ReleaseEnded(*slot);
  } else {
    owner.Release(*slot);
  }
  return !owner.closed();
}

// So an entry with room for a tag can be taken for one without.
using Entry = RawEntries::Entry;
static_assert(offsetof(fi_cq_tagged_entry, op_context) == offsetof(Entry, op_context));
static_assert(offsetof(fi_cq_tagged_entry, flags) == offsetof(Entry, flags));
static_assert(offsetof(fi_cq_tagged_entry, len) == offsetof(Entry, len));
static_assert(offsetof(fi_cq_tagged_entry, buf) == offsetof(Entry, buf));
static_assert(offsetof(fi_cq_tagged_entry, data) == offsetof(Entry, data));

// Fills the fields of an arrival, from any sender.
void TellArrival(const Entry& entry, Completion& completion) {
  completion.length_bytes = entry.len;
  if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) {
    completion.immediate = static_cast<std::uint32_t>(entry.data);
  }
}

// Fills the fields of a peer's message into the receive of `slot`. `source`: null where it is not
// told.
void TellReceive(const Entry& entry, const RequestSlot& slot, const fi_addr_t* source,
                 Completion& completion) {
  if (IsMulti(&slot)) completion.data = static_cast<std::byte*>(entry.buf);
  if (source != nullptr && *source != FI_ADDR_NOTAVAIL) {
    completion.source = slot.owner->peers()->PeerOf(*source);
  }
  if (slot.what.kind == OperationKind::kTaggedReceive) {  // then the entry has room for a tag
    completion.tag = reinterpret_cast<const fi_cq_tagged_entry&>(entry).tag;
  }
}

// A success of any kind. False: it is not reported.
[[gnu::noinline]] bool TranslateAny(const Entry& entry, const fi_addr_t* source,
                                    bool immediates_name_receives, Completion& completion) {
  RequestSlot* slot = SlotOf(entry.op_context, entry.flags, immediates_name_receives);
  if (IsLate(slot)) return false;
  const bool ended =
      IsMulti(slot) && slot->EndsMulti(static_cast<std::byte*>(entry.buf) + entry.len, entry.len,
                                       (entry.flags & FI_MULTI_RECV) != 0);
  if (!Claim(slot, entry.flags, ended, completion)) return false;
  if (slot != nullptr) {
    if (!completion.context.has_value()) return false;  // unsignalled
    if (!IsReceive(slot->what.kind)) return true;
    TellReceive(entry, *slot, source, completion);
  } else if (completion.kind != OperationKind::kRemoteWrite &&
             completion.kind != OperationKind::kReceive) {
    return true;  // a stray
  }
  TellArrival(entry, completion);
  return true;
}

// Whether a multi receive takes no message after one that has failed. The flag does not say it of
// tcp's messages that were too long for the rest of the buffer (ofiwg/libfabric
// prov/rxm/src/rxm_cq.c, rxm_cq_write_error_trunc); and there a lost connection cancels the message
// and not the receive.
bool EndsWithFailure(const RequestSlot& slot, bool is_efa, const fi_cq_err_entry& entry,
                     ErrorCode error) {
  if ((entry.flags & FI_MULTI_RECV) != 0) return true;
  if (error == ErrorCode::kCanceled) return is_efa || slot.what.taken_back;
  return error == ErrorCode::kTruncated && !is_efa;
}

// What tcp reports of requests whose connection has gone (ofiwg/libfabric prov/tcp/src/xnet_ep.c):
// cancelled, though nobody has taken them back; and of the receive that a message was coming into,
// not connected.
bool IsOfALostConnection(const RequestSlot& slot, int error) {
  if (std::abs(error) == FI_ECANCELED) return !slot.what.taken_back;
  return std::abs(error) == FI_ENOTCONN && IsReceive(slot.what.kind);
}

// The common fields of completions of the two most frequent kinds.
constexpr Completion kOwnRequest{.context = Context{}};
constexpr Completion kPeersWrite{.kind = OperationKind::kRemoteWrite, .immediate = 0};

// A success of one of these kinds. False: it is of another kind. Inlined by force: an entry has a
// few nanoseconds.
[[gnu::always_inline]] inline bool TranslatePlain(const Entry& entry, bool immediates_name_receives,
                                                  Completion& completion) {
  if ((entry.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) != 0) {
    if ((entry.flags & FI_REMOTE_CQ_DATA) == 0 || !IsPeersWrite(entry.flags) ||
        immediates_name_receives) [[unlikely]]
      return false;
    completion = kPeersWrite;
    *completion.immediate = static_cast<std::uint32_t>(entry.data);
    completion.length_bytes = entry.len;
    return true;
  }
  RequestSlot* const slot = RequestSlot::FromContext(entry.op_context);
  if (slot == nullptr || slot->what.report != Report::kContext) [[unlikely]]
    return false;
  completion = kOwnRequest;
  *completion.context = slot->context;
  completion.kind = slot->what.kind;
  slot->owner->Release(*slot);
  return true;
}

}  // namespace

LibfabricCompletionQueue::LibfabricCompletionQueue(std::shared_ptr<QueueCore> core,
                                                   std::optional<int> wait_descriptor)
    : most_at_once_(core->tells_source ? 0 : RawEntries::kMost),
      queue_(core->queue.get()),
      entry_bytes_(core->entry_bytes),
      immediates_name_receives_(core->immediates_name_receives),
      shares_memory_(core->domain->shares_memory),
      core_(std::move(core)),
      wait_descriptor_(wait_descriptor) {}

ReadResult LibfabricCompletionQueue::Read(std::span<Completion> entries) {
  if (entries.size() - 1 >= most_at_once_) [[unlikely]]
    return ReadAny(entries);
  const ssize_t got = fi_cq_read(queue_, raw_.bytes, entries.size());
  if (got <= 0) return ReadNothing(got, entries.front());
  // Here and not in a function, for as long as they are plain: then all of them are told.
  const std::size_t entry_bytes = entry_bytes_;
  std::size_t place = 0;
  Completion* next = entries.data();
  for (ssize_t left = got; left != 0; --left) {
    if (!TranslatePlain(raw_.At(place), immediates_name_receives_, *next)) [[unlikely]] {
      const std::size_t done = static_cast<std::size_t>(got - left);
      return {done + Translate(done, static_cast<std::size_t>(left), nullptr, next),
              ErrorCode::kOk};
    }
    place += entry_bytes;
    ++next;
  }
  return {static_cast<std::size_t>(got), ErrorCode::kOk};
}

[[gnu::noinline]] ReadResult LibfabricCompletionQueue::ReadAny(std::span<Completion> entries) {
  if (core_ == nullptr) return {0, ErrorCode::kClosed};
  if (entries.empty()) return {};
  entries = entries.first(std::min(entries.size(), RawEntries::kMost));
  if (!core_->tells_source) return Read(entries);
  std::array<fi_addr_t, RawEntries::kMost> sources;  // filled by the library
  const ssize_t got = fi_cq_readfrom(queue_, raw_.bytes, entries.size(), sources.data());
  if (got <= 0) return ReadNothing(got, entries.front());
  const auto count = static_cast<std::size_t>(got);
  return {Translate(0, count, sources.data(), entries.data()), ErrorCode::kOk};
}

[[gnu::noinline]] std::size_t LibfabricCompletionQueue::Translate(std::size_t first,
                                                                  std::size_t count,
                                                                  const fi_addr_t* sources,
                                                                  Completion* completions) const {
  Completion* next = completions;
  for (std::size_t i = first; i < first + count; ++i) {
    const Entry& entry = raw_.At(i * entry_bytes_);
    const fi_addr_t* source = sources == nullptr ? nullptr : sources + i;
    if (TranslatePlain(entry, immediates_name_receives_, *next) ||
        TranslateAny(entry, source, immediates_name_receives_, *next)) {
      ++next;
    }
  }
  return static_cast<std::size_t>(next - completions);
}

ReadResult LibfabricCompletionQueue::ReadNothing(ssize_t got, Completion& first) {
  if (got == -FI_EAVAIL) return ReadError(first);
  if (got != -FI_EAGAIN && got != 0) return {0, FromErrno(static_cast<int>(got))};
  core_->orphans.clear();
  // Each look at shm's queue takes its cache lines from the peer that is about to write there.
  if (shares_memory_) SpinPause();
  if (core_->events != nullptr) core_->events->Look();
  return {};
}

ReadResult LibfabricCompletionQueue::ReadError(Completion& completion) {
  std::array<char, 1025> words{};  // efa gives 1024 (prov/efa, EFA_ERROR_MSG_BUFFER_LENGTH)
  fi_cq_err_entry entry{};
  entry.err_data = words.data();
  entry.err_data_size = words.size() - 1;  // stays terminated, whatever the provider writes
  const ssize_t got = fi_cq_readerr(core_->queue.get(), &entry, 0);
  if (got == -FI_EAGAIN || got == 0) return {};
  if (got < 0) return {0, FromErrno(static_cast<int>(got))};
  RequestSlot* slot = SlotOf(entry.op_context, entry.flags, core_->immediates_name_receives);
  if (IsLate(slot)) return {};
  const bool is_efa = core_->domain->is_efa;
  const ErrorCode error = FromErrorEntry(is_efa, entry.err, entry.prov_errno);
  const bool ended =
      IsMulti(slot) && slot->FailsMulti(entry.buf, EndsWithFailure(*slot, is_efa, entry, error));
  if (!Claim(slot, entry.flags, ended, completion)) return {};
  completion.error = error;
  if (!is_efa && slot != nullptr && IsOfALostConnection(*slot, entry.err)) {
    completion.error = ErrorCode::kPeerAborted;
  }
  completion.provider_error = entry.prov_errno;
  if (completion.kind == OperationKind::kTaggedReceive) completion.tag = entry.tag;
  const char* text =
      fi_cq_strerror(core_->queue.get(), entry.prov_errno, entry.err_data, nullptr, 0);
  last_error_ = absl::StrCat(InstalledLibrary()->strerror(std::abs(entry.err)), "; provider error ",
                             entry.prov_errno, text == nullptr ? "" : absl::StrCat(": ", text));
  last_data_.clear();
  if (entry.err_data != nullptr) {  // a provider may lend a buffer of its own
    const bool in_ours = entry.err_data == words.data();
    last_data_.assign(
        static_cast<const char*>(entry.err_data),
        in_ours ? std::min(entry.err_data_size, words.size() - 1) : entry.err_data_size);
  }
  return {1, ErrorCode::kOk};
}

std::string LibfabricCompletionQueue::ErrorText(const Completion& completion) {
  return completion.ok() ? "success" : last_error_;
}

absl::Status LibfabricCompletionQueue::Close() {
  RETURN_IF_ERROR(CloseShared(core_, "completion queue"));
  most_at_once_ = 0;
  return absl::OkStatus();
}

void* LibfabricCompletionQueue::QueryPower(const PowerId& power) {
  if (&power == &ErrorDetails::kPower) return static_cast<ErrorDetails*>(this);
  if (&power != &BlockingWait::kPower || !wait_descriptor_.has_value()) return nullptr;
  return static_cast<BlockingWait*>(this);
}

void LibfabricCompletionQueue::ReadErrorData(const Completion& completion, ErrorData& data) {
  error_buffer_.Give(completion.ok() ? std::string_view("") : last_data_, data);
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

}  // namespace drydock::fabric::libfabric
