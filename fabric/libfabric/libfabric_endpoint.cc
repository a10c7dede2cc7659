#include "drydock/fabric/libfabric/libfabric_endpoint.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "drydock/fabric/libfabric/errno_mapping.h"
#include "drydock/fabric/libfabric/nic_description.h"

namespace drydock::fabric::libfabric {
namespace {

void* Descriptor(const LocalBuffer& buffer) { return reinterpret_cast<void*>(buffer.local_key); }

// Of bytes that the post itself is to take there is none: given one, `efa` of libfabric 1.17 lets
// the NIC read them later (prov/efa/src/rxr/rxr_pkt_type_base.c).
template <typename Request>
void* DescriptorOf(const Request& request, const LocalBuffer& buffer) {
  return request.inject ? nullptr : Descriptor(buffer);
}

// The segments of a request in the library's form. Lives on the stack of a post; unused elements
// are not even cleared. REQUIRES: 1 + more.size() <= kMostSegments.
struct Segments {
  Segments(const LocalBuffer& first, MoreSegments more) {
    Add(first);
    for (const LocalBuffer& buffer : more) Add(buffer);
  }

  void Add(const LocalBuffer& buffer) {
    ranges[count] = {buffer.data, buffer.length_bytes};
    descriptors[count++] = Descriptor(buffer);
  }

  std::array<iovec, kMostSegments> ranges;
  std::array<void*, kMostSegments> descriptors;
  std::size_t count = 0;
};

// The largest number if it is more than that: a sum that wraps around would pass for a short one.
std::size_t TotalBytes(const LocalBuffer& first, MoreSegments more) {
  std::size_t total = first.length_bytes;
  for (const LocalBuffer& buffer : more) {
    if (__builtin_add_overflow(total, buffer.length_bytes, &total)) return SIZE_MAX;
  }
  return total;
}

// Of a peer that was found: one look into the vector is enough for a post.
fi_addr_t NumberOf(Peer found) { return VectorCore::NumberOf(found); }

// A LocalBuffer begins with an iovec, and a segment's descriptor follows: the library can be given
// the request's own.
static_assert(offsetof(LocalBuffer, data) == offsetof(iovec, iov_base));
static_assert(offsetof(LocalBuffer, length_bytes) == offsetof(iovec, iov_len));
static_assert(sizeof(LocalBuffer::data) == sizeof(iovec::iov_base));
static_assert(sizeof(LocalBuffer::length_bytes) == sizeof(iovec::iov_len));
static_assert(sizeof(LocalBuffer::local_key) == sizeof(void*));

const iovec* AsRange(const LocalBuffer& buffer) { return reinterpret_cast<const iovec*>(&buffer); }

// The library takes it by a pointer that is not const, and writes nothing there.
void** AsDescriptor(const LocalBuffer& buffer) {
  return reinterpret_cast<void**>(const_cast<std::uint64_t*>(&buffer.local_key));
}

template <typename Request>
std::uint64_t FlagsOf(const Request& request) {
  std::uint64_t flags = 0;
  if (request.immediate.has_value()) flags |= FI_REMOTE_CQ_DATA;
  if (request.inject) flags |= FI_INJECT;
  return flags;
}

}  // namespace

LibfabricEndpoint::LibfabricEndpoint(EndpointParts parts, OpenedEndpoint opened)
    : parts_(std::move(parts)),
      sends_(std::make_unique<RequestSlots>(opened.limits.send_queue_depth, parts_.peers.get())),
      receives_(
          std::make_unique<RequestSlots>(opened.limits.receive_queue_depth, parts_.peers.get())),
      endpoint_(std::move(opened.handle)),
      peers_(parts_.peers.get()),
      capabilities_(opened.capabilities),
      limits_(opened.limits),
      address_(opened.address) {
  const std::uint64_t most = limits_.max_rma_bytes;
  too_long_to_write_ = most == 0 || most == Limits::kUnlimited ? most : most + 1;
  write_message_.iov_count = 1;
  write_message_.rma_iov = &write_target_;
  write_message_.rma_iov_count = 1;
  if (capabilities_.Has(Capability::kAtomics)) {
    atomic_limits_ = std::make_unique<AtomicLimits>(endpoint_.get());
  }
}

absl::Status LibfabricEndpoint::Close() {
  if (!endpoint_) return absl::OkStatus();
  const int result = endpoint_.Close();
  parts_.send_queue->Adopt(std::move(sends_));
  parts_.receive_queue->Adopt(std::move(receives_));
  parts_ = EndpointParts();
  peers_ = nullptr;
  too_long_to_write_ = 0;
  return result == 0 ? absl::OkStatus() : ControlError(result, "close endpoint: fi_close");
}

void* LibfabricEndpoint::QueryPower(const PowerId& power) {
  const auto has = [this](Capability capability) { return capabilities_.Has(capability); };
  if (&power == &TaggedMessages::kPower && has(Capability::kTaggedMessages)) {
    return static_cast<TaggedMessages*>(this);
  }
  if (&power == &Cancel::kPower && has(Capability::kCancel)) return static_cast<Cancel*>(this);
  if (&power == &Atomics::kPower && has(Capability::kAtomics)) return static_cast<Atomics*>(this);
  return nullptr;
}

// ---- Requests that are refused before the provider sees them ----

ErrorCode LibfabricEndpoint::CheckInject(std::size_t length_bytes, std::size_t most_bytes) const {
  if (!capabilities_.Has(Capability::kInject)) return ErrorCode::kUnsupported;
  return length_bytes <= most_bytes ? ErrorCode::kOk : ErrorCode::kMessageTooLong;
}

// The provider would refuse it in the middle of a batch, and ring for none of those before it.
bool LibfabricEndpoint::LacksKey(const LocalBuffer& buffer,
                                 std::span<const LocalBuffer> more) const {
  const auto lacks = [](const LocalBuffer& one) { return one.local_key == 0; };
  return needs_keys_ && (lacks(buffer) || std::any_of(more.begin(), more.end(), lacks));
}

ErrorCode LibfabricEndpoint::CheckSource(Peer source) const {
  if (source == kNoPeer) return ErrorCode::kOk;
  if (!capabilities_.Has(Capability::kDirectedReceive)) return ErrorCode::kUnsupported;
  return peers_->Find(source) == FI_ADDR_UNSPEC ? ErrorCode::kUnknownPeer : ErrorCode::kOk;
}

ErrorCode LibfabricEndpoint::Check(const SendRequest& request) const {
  if (peers_->Find(request.peer) == FI_ADDR_UNSPEC) return ErrorCode::kUnknownPeer;
  if (1 + request.more.size() > limits_.send_segments) return ErrorCode::kInvalidArgument;
  // The first segment must hold all of a datagram's prefix.
  const std::size_t prefix = limits_.datagram_prefix_bytes;
  if (request.buffer.length_bytes < prefix) return ErrorCode::kInvalidArgument;
  const std::size_t length = TotalBytes(request.buffer, request.more);
  if (length > limits_.max_message_bytes) return ErrorCode::kMessageTooLong;
  if (!request.inject && LacksKey(request.buffer, request.more)) return ErrorCode::kInvalidArgument;
  return request.inject ? CheckInject(length - prefix, limits_.inject_bytes) : ErrorCode::kOk;
}

ErrorCode LibfabricEndpoint::Check(const RecvRequest& request) const {
  if (1 + request.more.size() > limits_.receive_segments) return ErrorCode::kInvalidArgument;
  if (request.buffer.length_bytes < limits_.datagram_prefix_bytes) {
    return ErrorCode::kInvalidArgument;
  }
  if (request.multi && !capabilities_.Has(Capability::kMultiReceive)) {
    return ErrorCode::kUnsupported;
  }
  // The providers move one segment's beginning on, by more than its length if need be.
  if (request.multi && !request.more.empty()) return ErrorCode::kInvalidArgument;
  if (LacksKey(request.buffer, request.more)) return ErrorCode::kInvalidArgument;
  return CheckSource(request.source);
}

ErrorCode LibfabricEndpoint::Check(const WriteRequest& request) const {
  if (limits_.max_rma_bytes == 0) return ErrorCode::kUnsupported;
  if (peers_->Find(request.peer) == FI_ADDR_UNSPEC) return ErrorCode::kUnknownPeer;
  const std::size_t length = request.source.length_bytes;
  if (length > limits_.max_rma_bytes) return ErrorCode::kMessageTooLong;
  if (WrapsAround(request.target, length)) return ErrorCode::kRemoteAccess;
  const bool lacks_key = !request.inject && length > 0 && LacksKey(request.source);
  if (lacks_key) return ErrorCode::kInvalidArgument;
  return request.inject ? CheckInject(length, limits_.inject_rma_bytes) : ErrorCode::kOk;
}

ErrorCode LibfabricEndpoint::Check(const ReadRequest& request) const {
  if (limits_.max_rma_bytes == 0) return ErrorCode::kUnsupported;
  if (peers_->Find(request.peer) == FI_ADDR_UNSPEC) return ErrorCode::kUnknownPeer;
  const std::size_t length = request.target.length_bytes;
  if (length > limits_.max_rma_bytes) return ErrorCode::kMessageTooLong;
  if (WrapsAround(request.source, length)) return ErrorCode::kRemoteAccess;
  const bool lacks_key = length > 0 && LacksKey(request.target);
  return lacks_key ? ErrorCode::kInvalidArgument : ErrorCode::kOk;
}

ErrorCode LibfabricEndpoint::Check(const TaggedSendRequest& request) const {
  if (peers_->Find(request.peer) == FI_ADDR_UNSPEC) return ErrorCode::kUnknownPeer;
  const std::size_t length = request.buffer.length_bytes;
  if (length > limits_.max_message_bytes) return ErrorCode::kMessageTooLong;
  return request.inject ? CheckInject(length, limits_.inject_bytes) : ErrorCode::kOk;
}

ErrorCode LibfabricEndpoint::Check(const TaggedRecvRequest& request) const {
  return CheckSource(request.source);
}

// ---- Posting ----

ssize_t LibfabricEndpoint::PostOne(const SendRequest& request, void* slot, std::uint64_t flags) {
  Segments segments(request.buffer, request.more);
  const fi_msg message{.msg_iov = segments.ranges.data(),
                       .desc = request.inject ? nullptr : segments.descriptors.data(),
                       .iov_count = segments.count,
                       .addr = NumberOf(request.peer),
                       .context = slot,
                       .data = request.immediate.value_or(0)};
  return fi_sendmsg(endpoint_.get(), &message, flags | FlagsOf(request));
}

ssize_t LibfabricEndpoint::PostOne(const RecvRequest& request, void* slot, std::uint64_t flags) {
  Segments segments(request.buffer, request.more);
  const fi_msg message{.msg_iov = segments.ranges.data(),
                       .desc = segments.descriptors.data(),
                       .iov_count = segments.count,
                       .addr = peers_->Find(request.source),
                       .context = slot};
  if (request.multi) RequestSlot::FromContext(slot)->OpenMulti(request.buffer.data);
  return fi_recvmsg(endpoint_.get(), &message, request.multi ? flags | FI_MULTI_RECV : flags);
}

ssize_t LibfabricEndpoint::PostOne(const WriteRequest& request, void* slot, std::uint64_t flags) {
  const iovec range{request.source.data, request.source.length_bytes};
  void* descriptor = DescriptorOf(request, request.source);
  const fi_rma_iov target{request.target.address, request.source.length_bytes, request.target.key};
  const fi_msg_rma message{.msg_iov = &range,
                           .desc = &descriptor,
                           .iov_count = 1,
                           .addr = NumberOf(request.peer),
                           .rma_iov = &target,
                           .rma_iov_count = 1,
                           .context = slot,
                           .data = request.immediate.value_or(0)};
  return fi_writemsg(endpoint_.get(), &message, flags | FlagsOf(request));
}

ssize_t LibfabricEndpoint::PostOne(const ReadRequest& request, void* slot, std::uint64_t flags) {
  const iovec range{request.target.data, request.target.length_bytes};
  void* descriptor = Descriptor(request.target);
  const fi_rma_iov source{request.source.address, request.target.length_bytes, request.source.key};
  const fi_msg_rma message{.msg_iov = &range,
                           .desc = &descriptor,
                           .iov_count = 1,
                           .addr = NumberOf(request.peer),
                           .rma_iov = &source,
                           .rma_iov_count = 1,
                           .context = slot};
  return fi_readmsg(endpoint_.get(), &message, flags);
}

ssize_t LibfabricEndpoint::PostOne(const TaggedSendRequest& request, void* slot,
                                   std::uint64_t flags) {
  const iovec range{request.buffer.data, request.buffer.length_bytes};
  void* descriptor = DescriptorOf(request, request.buffer);
  const fi_msg_tagged message{.msg_iov = &range,
                              .desc = &descriptor,
                              .iov_count = 1,
                              .addr = NumberOf(request.peer),
                              .tag = request.tag,
                              .context = slot,
                              .data = request.immediate.value_or(0)};
  return fi_tsendmsg(endpoint_.get(), &message, flags | FlagsOf(request));
}

ssize_t LibfabricEndpoint::PostOne(const TaggedRecvRequest& request, void* slot,
                                   std::uint64_t flags) {
  const iovec range{request.buffer.data, request.buffer.length_bytes};
  void* descriptor = Descriptor(request.buffer);
  const fi_msg_tagged message{.msg_iov = &range,
                              .desc = &descriptor,
                              .iov_count = 1,
                              .addr = peers_->Find(request.source),
                              .tag = request.tag,
                              .ignore = request.ignore,
                              .context = slot};
  return fi_trecvmsg(endpoint_.get(), &message, flags);
}

template <typename Request>
ErrorCode LibfabricEndpoint::PostChecked(const Request& request, RequestSlots& slots,
                                         OperationKind kind, bool more) {
  RequestSlot& slot = slots.Take(request.context, kind);
  const std::uint64_t flags = more && !slots.nearly_full() ? FI_MORE : 0;
  const ssize_t answer = PostOne(request, &slot.provider_memory, flags);
  if (answer == 0) [[likely]]
    return ErrorCode::kOk;
  slots.Release(slot);
  return FromErrno(static_cast<int>(answer));
}

// A batch that ends early must not leave its requests waiting for a doorbell: whether a request is
// the last one that will be posted is known before it is. A provider that refuses one by itself may
// not ring for those before it (efa of libfabric 2.1), so each rings where room is short.
template <typename Request>
[[gnu::noinline]] PostResult LibfabricEndpoint::PostBatch(std::span<const Request> requests,
                                                          RequestSlots& slots, OperationKind kind) {
  PostResult result{requests.size(), ErrorCode::kOk};
  for (std::size_t i = 0; i < result.accepted; ++i) {
    const ErrorCode error = Check(requests[i]);
    if (error != ErrorCode::kOk) result = {i, error};
  }
  for (std::size_t i = 0; i < result.accepted; ++i) {
    if (slots.full()) return {i, ErrorCode::kAgain};
    const ErrorCode error = PostChecked(requests[i], slots, kind, i + 1 < result.accepted);
    if (error != ErrorCode::kOk) return {i, error};
  }
  return result;
}

template <typename Request>
PostResult LibfabricEndpoint::PostAll(std::span<const Request> requests, RequestSlots* slots,
                                      OperationKind kind) {
  if (!endpoint_) return {0, ErrorCode::kClosed};
  if (requests.size() != 1) return PostBatch(requests, *slots, kind);
  // Most posts are of one request: nothing to plan.
  ErrorCode error = Check(requests.front());
  if (error == ErrorCode::kOk && slots->full()) error = ErrorCode::kAgain;
  if (error != ErrorCode::kOk) [[unlikely]]
    return {0, error};
  error = PostChecked(requests.front(), *slots, kind, false);
  return {error == ErrorCode::kOk ? 1u : 0u, error};
}

PostResult LibfabricEndpoint::Send(std::span<const SendRequest> requests) {
  return PostAll(requests, sends_.get(), OperationKind::kSend);
}

PostResult LibfabricEndpoint::Recv(std::span<const RecvRequest> requests) {
  return PostAll(requests, receives_.get(), OperationKind::kReceive);
}

[[gnu::noinline]] PostResult LibfabricEndpoint::WriteAny(std::span<const WriteRequest> requests) {
  return PostAll(requests, sends_.get(), OperationKind::kWrite);
}

bool LibfabricEndpoint::IsPlain(const WriteRequest& request) const {
  const std::size_t length = request.source.length_bytes;
  return length < too_long_to_write_ && peers_->Has(request.peer) &&
         !WrapsAround(request.target, length) && !request.inject && request.context.has_value();
}

ssize_t LibfabricEndpoint::PostPlain(const WriteRequest& request, RequestSlots& slots, bool more) {
  RequestSlot& slot = slots.Take(*request.context, {Report::kContext, OperationKind::kWrite});
  write_target_ = {request.target.address, request.source.length_bytes, request.target.key};
  write_message_.msg_iov = AsRange(request.source);
  write_message_.desc = AsDescriptor(request.source);
  write_message_.addr = NumberOf(request.peer);
  write_message_.context = &slot.provider_memory;
  std::uint64_t flags = more && !slots.nearly_full() ? FI_MORE : 0;
  if (request.immediate.has_value()) [[likely]] {
    write_message_.data = *request.immediate;
    flags |= FI_REMOTE_CQ_DATA;
  } else {
    write_message_.data = 0;
  }
  return fi_writemsg(endpoint_.get(), &write_message_, flags);
}

[[gnu::cold, gnu::noinline]] ErrorCode LibfabricEndpoint::WriteRefused(ssize_t answer) {
  sends_->Release(*RequestSlot::FromContext(write_message_.context));
  return FromErrno(static_cast<int>(answer));
}

// The short way, which most writes take. WriteAny takes the others, and finds the reason to refuse
// one.
[[gnu::flatten]] PostResult LibfabricEndpoint::Write(std::span<const WriteRequest> requests) {
  if (requests.size() != 1) return WriteBurst(requests);
  const WriteRequest& request = requests.front();
  if (!IsPlain(request) || sends_->full()) [[unlikely]]
    return WriteAny(requests);
  const ssize_t answer = PostPlain(request, *sends_, /*more=*/false);
  if (answer != 0) [[unlikely]]
    return {0, WriteRefused(answer)};
  return {1, ErrorCode::kOk};
}

// Looks at all of them first, so that next to nothing lies between two posts: the longer it takes,
// the more often a target that polls meanwhile comes in between, and shm's queue goes to and fro
// between the two processors (docs/decisions/0037-latency-and-rate-between-two-threads.md).
[[gnu::noinline, gnu::flatten]] PostResult LibfabricEndpoint::WriteBurst(
    std::span<const WriteRequest> requests) {
  const auto plain = [this](const WriteRequest& request) {
    return IsPlain(request) && !LacksKey(request.source);
  };
  if (requests.empty() || !std::all_of(requests.begin(), requests.end(), plain)) [[unlikely]]
    return WriteAny(requests);
  RequestSlots& slots = *sends_;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (slots.full()) [[unlikely]]
      return {i, ErrorCode::kAgain};
    const ssize_t answer = PostPlain(requests[i], slots, i + 1 < requests.size());
    if (answer != 0) [[unlikely]]
      return {i, WriteRefused(answer)};
  }
  return {requests.size(), ErrorCode::kOk};
}

PostResult LibfabricEndpoint::Read(std::span<const ReadRequest> requests) {
  return PostAll(requests, sends_.get(), OperationKind::kRead);
}

PostResult LibfabricEndpoint::SendTagged(std::span<const TaggedSendRequest> requests) {
  return PostAll(requests, sends_.get(), OperationKind::kTaggedSend);
}

PostResult LibfabricEndpoint::RecvTagged(std::span<const TaggedRecvRequest> requests) {
  return PostAll(requests, receives_.get(), OperationKind::kTaggedReceive);
}

ErrorCode LibfabricEndpoint::Atomic(const AtomicRequest& request) {
  return PostAll(std::span(&request, 1), sends_.get(), OperationKind::kAtomic).error;
}

ErrorCode LibfabricEndpoint::CancelReceive(Context context) {
  if (!endpoint_) return ErrorCode::kClosed;
  RequestSlot* slot = receives_->Find(context);
  if (slot == nullptr) return ErrorCode::kInvalidArgument;
  for (; slot != nullptr; slot = receives_->Find(context, slot)) {
    const ssize_t result = fi_cancel(&endpoint_.get()->fid, &slot->provider_memory);
    if (result >= 0) {
      slot->what.taken_back = true;
      return ErrorCode::kOk;
    }
    // A receive that the provider does not find has its message already, and another with the
    // context may have none.
    if (result != -FI_ENOENT) return FromErrno(static_cast<int>(result));
  }
  return ErrorCode::kOk;
}

}  // namespace drydock::fabric::libfabric
