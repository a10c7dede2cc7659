#include "fabric/libfabric/libfabric_endpoint.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "coro/status_macros.h"
#include "fabric/libfabric/errno_mapping.h"

namespace fabric::libfabric {
namespace {

void* Descriptor(const LocalBuffer& buffer) { return reinterpret_cast<void*>(buffer.local_key); }

// Requests are checked first, so that a request that is refused does not leave the ones before it
// unrung: the last request that will be posted is known before the first one is.
template <typename Request, typename Check>
PostResult CheckedPrefix(std::span<const Request> requests, Check check) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ErrorCode error = check(requests[i]);
    if (error != ErrorCode::kOk) return {i, error};
  }
  return {requests.size(), ErrorCode::kOk};
}

// Posts the first `checked.accepted` requests with one doorbell (FI_MORE); `post(request, more)`
// posts one.
template <typename Request, typename Post>
PostResult PostPrefix(std::span<const Request> requests, PostResult checked, Post post) {
  for (std::size_t i = 0; i < checked.accepted; ++i) {
    const ErrorCode error = post(requests[i], i + 1 < checked.accepted);
    if (error != ErrorCode::kOk)
      return {i, error};  // a provider that refuses a post rings for those before it
  }
  return checked;
}

absl::StatusOr<Address> NameOf(Api& api, fid_ep* endpoint) {
  std::array<std::uint8_t, Address::kMaxBytes> bytes;
  std::size_t length = bytes.size();
  if (const int result = api.GetName(&endpoint->fid, bytes.data(), &length); result != 0) {
    return ControlError(result, "open endpoint: fi_getname");
  }
  return Address::FromBytes({bytes.data(), length});
}

absl::Status BindAndEnable(Api& api, fid_ep* endpoint, QueueCore& send_queue,
                           QueueCore& receive_queue, VectorCore& peers) {
  const bool one_queue = &send_queue == &receive_queue;
  fid* const send = &send_queue.queue.get()->fid;
  fid* const receive = &receive_queue.queue.get()->fid;
  int result = api.Bind(endpoint, send, one_queue ? FI_TRANSMIT | FI_RECV : FI_TRANSMIT);
  if (result == 0 && !one_queue) result = api.Bind(endpoint, receive, FI_RECV);
  if (result != 0) return ControlError(result, "open endpoint: fi_ep_bind(cq)");
  result = api.Bind(endpoint, &peers.vector.get()->fid, 0);
  if (result != 0) return ControlError(result, "open endpoint: fi_ep_bind(av)");
  result = api.Enable(endpoint);
  return result == 0 ? absl::OkStatus() : ControlError(result, "open endpoint: fi_enable");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Endpoint>> LibfabricEndpoint::Open(
    const Limits& limits, std::shared_ptr<QueueCore> send_queue,
    std::shared_ptr<QueueCore> receive_queue, std::shared_ptr<VectorCore> peers) {
  DomainCore& domain = *peers->domain;
  fid_ep* endpoint = nullptr;
  const int result = domain.api.OpenEndpoint(domain.domain.get(), domain.nic.info, &endpoint);
  if (result != 0) return ControlError(result, "open endpoint: fi_endpoint");
  Handle<fid_ep> handle(domain.api, endpoint);
  RETURN_IF_ERROR(BindAndEnable(domain.api, endpoint, *send_queue, *receive_queue, *peers));
  ASSIGN_OR_RETURN(const Address address, NameOf(domain.api, endpoint));
  return std::unique_ptr<Endpoint>(new LibfabricEndpoint(limits, std::move(send_queue),
                                                         std::move(receive_queue), std::move(peers),
                                                         std::move(handle), address));
}

LibfabricEndpoint::LibfabricEndpoint(const Limits& limits, std::shared_ptr<QueueCore> send_queue,
                                     std::shared_ptr<QueueCore> receive_queue,
                                     std::shared_ptr<VectorCore> peers, Handle<fid_ep> endpoint,
                                     const Address& address)
    : send_queue_(std::move(send_queue)),
      receive_queue_(std::move(receive_queue)),
      peers_(std::move(peers)),
      sends_(std::make_unique<RequestSlots>(limits.send_queue_depth)),
      receives_(std::make_unique<RequestSlots>(limits.receive_queue_depth)),
      endpoint_(std::move(endpoint)),
      limits_(limits),
      address_(address) {}

absl::Status LibfabricEndpoint::Close() {
  if (!endpoint_) return absl::OkStatus();
  const int result = endpoint_.Close();
  send_queue_->Adopt(std::move(sends_));
  receive_queue_->Adopt(std::move(receives_));
  send_queue_.reset();
  receive_queue_.reset();
  peers_.reset();
  return result == 0 ? absl::OkStatus() : ControlError(result, "close endpoint: fi_close");
}

ErrorCode LibfabricEndpoint::Check(Peer peer, std::size_t length_bytes,
                                   std::uint64_t most_bytes) const {
  if (peers_->Find(peer) == FI_ADDR_UNSPEC) return ErrorCode::kUnknownPeer;
  return length_bytes <= most_bytes ? ErrorCode::kOk : ErrorCode::kMessageTooLong;
}

template <typename Post>
ErrorCode LibfabricEndpoint::PostOne(RequestSlots& slots, std::optional<Context> context,
                                     OperationKind kind, bool more, Post post) {
  RequestSlot* slot = slots.Take(context, kind);
  if (slot == nullptr) return ErrorCode::kAgain;
  const ssize_t result = post(static_cast<void*>(&slot->provider_memory), more ? FI_MORE : 0);
  if (result == 0) return ErrorCode::kOk;
  slots.Release(*slot);
  return FromErrno(static_cast<int>(result));
}

PostResult LibfabricEndpoint::Send(std::span<const SendRequest> requests) {
  if (!endpoint_) return {0, ErrorCode::kClosed};
  const PostResult checked = CheckedPrefix(requests, [this](const SendRequest& request) {
    return Check(request.peer, request.buffer.length_bytes, limits_.max_message_bytes);
  });
  return PostPrefix(requests, checked, [this](const SendRequest& request, bool more) {
    return PostOne(*sends_, request.context, OperationKind::kSend, more,
                   [&](void* slot, std::uint64_t flags) {
                     iovec range{request.buffer.data, request.buffer.length_bytes};
                     void* descriptor = Descriptor(request.buffer);
                     fi_msg message{&range, &descriptor,
                                    1,      peers_->Find(request.peer),
                                    slot,   request.immediate.value_or(0)};
                     if (request.immediate.has_value()) flags |= FI_REMOTE_CQ_DATA;
                     return fi_sendmsg(endpoint_.get(), &message, flags);
                   });
  });
}

PostResult LibfabricEndpoint::Recv(std::span<const RecvRequest> requests) {
  if (!endpoint_) return {0, ErrorCode::kClosed};
  const PostResult all{requests.size(), ErrorCode::kOk};
  return PostPrefix(requests, all, [this](const RecvRequest& request, bool more) {
    return PostOne(*receives_, request.context, OperationKind::kReceive, more,
                   [&](void* slot, std::uint64_t flags) {
                     iovec range{request.buffer.data, request.buffer.length_bytes};
                     void* descriptor = Descriptor(request.buffer);
                     fi_msg message{&range, &descriptor, 1, FI_ADDR_UNSPEC, slot, 0};
                     return fi_recvmsg(endpoint_.get(), &message, flags);
                   });
  });
}

PostResult LibfabricEndpoint::Write(std::span<const WriteRequest> requests) {
  if (!endpoint_) return {0, ErrorCode::kClosed};
  const PostResult checked = CheckedPrefix(requests, [this](const WriteRequest& request) {
    return Check(request.peer, request.source.length_bytes, limits_.max_rma_bytes);
  });
  return PostPrefix(requests, checked, [this](const WriteRequest& request, bool more) {
    return PostOne(*sends_, request.context, OperationKind::kWrite, more,
                   [&](void* slot, std::uint64_t flags) {
                     iovec range{request.source.data, request.source.length_bytes};
                     void* descriptor = Descriptor(request.source);
                     fi_rma_iov target{request.target.address, request.source.length_bytes,
                                       request.target.key};
                     fi_msg_rma message{&range,  &descriptor, 1,    peers_->Find(request.peer),
                                        &target, 1,           slot, request.immediate.value_or(0)};
                     if (request.immediate.has_value()) flags |= FI_REMOTE_CQ_DATA;
                     return fi_writemsg(endpoint_.get(), &message, flags);
                   });
  });
}

PostResult LibfabricEndpoint::Read(std::span<const ReadRequest> requests) {
  if (!endpoint_) return {0, ErrorCode::kClosed};
  const PostResult checked = CheckedPrefix(requests, [this](const ReadRequest& request) {
    return Check(request.peer, request.target.length_bytes, limits_.max_rma_bytes);
  });
  return PostPrefix(requests, checked, [this](const ReadRequest& request, bool more) {
    return PostOne(*sends_, request.context, OperationKind::kRead, more,
                   [&](void* slot, std::uint64_t flags) {
                     iovec range{request.target.data, request.target.length_bytes};
                     void* descriptor = Descriptor(request.target);
                     fi_rma_iov source{request.source.address, request.target.length_bytes,
                                       request.source.key};
                     fi_msg_rma message{&range,  &descriptor, 1,    peers_->Find(request.peer),
                                        &source, 1,           slot, 0};
                     return fi_readmsg(endpoint_.get(), &message, flags);
                   });
  });
}

}  // namespace fabric::libfabric
