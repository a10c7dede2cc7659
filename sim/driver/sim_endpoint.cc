#include "drydock/sim/driver/sim_endpoint.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "drydock/coro/check.h"
#include "drydock/sim/efa_status.h"

namespace drydock::sim {
namespace {

namespace efa = fabric::efa_queue;

using fabric::ErrorCode;
using fabric::LocalBuffer;
using fabric::OperationKind;
using fabric::PostResult;

efa::BufferDescriptor ToDescriptor(const LocalBuffer& buffer) {
  return {.length = static_cast<std::uint32_t>(buffer.length_bytes),
          .lkey = static_cast<std::uint32_t>(buffer.local_key),
          .address = reinterpret_cast<std::uint64_t>(buffer.data)};
}

// Whether a work request can name the buffer at all; rights and bounds are the device's to check.
ErrorCode CheckSegment(const LocalBuffer& buffer) {
  if (buffer.length_bytes > UINT32_MAX) return ErrorCode::kMessageTooLong;
  return buffer.local_key <= efa::kLocalKeyMask ? ErrorCode::kOk : ErrorCode::kLocalAccess;
}

// The segments of a request, as the device takes them; fills `segments` and `count`.
template <std::size_t kMost>
ErrorCode Collect(const LocalBuffer& first, fabric::MoreSegments more, std::size_t most,
                  bool unregistered, efa::BufferDescriptor (&segments)[kMost],
                  std::uint8_t& count) {
  if (1 + more.size() > std::min(most, kMost)) return ErrorCode::kInvalidArgument;
  for (std::size_t i = 0; i <= more.size(); ++i) {
    LocalBuffer buffer = i == 0 ? first : more[i - 1];
    if (unregistered) buffer.local_key = 0;
    if (const ErrorCode error = CheckSegment(buffer); error != ErrorCode::kOk) return error;
    segments[i] = ToDescriptor(buffer);
  }
  count = static_cast<std::uint8_t>(1 + more.size());
  return ErrorCode::kOk;
}

// The driver wants a region for every segment that is not inline, even for one of no bytes
// (libfabric prov/efa/src/efa_msg.c, efa_rma.c: -FI_EINVAL without a descriptor).
ErrorCode CheckRegistered(std::span<const efa::BufferDescriptor> segments) {
  const bool registered =
      std::all_of(segments.begin(), segments.end(),
                  [](const efa::BufferDescriptor& segment) { return segment.lkey != 0; });
  return registered ? ErrorCode::kOk : ErrorCode::kInvalidArgument;
}

// The same for the one segment of a read or a write; of no bytes, the driver takes its own.
ErrorCode CheckRegistered(const LocalBuffer& buffer) {
  return buffer.local_key != 0 || buffer.length_bytes == 0 ? ErrorCode::kOk
                                                           : ErrorCode::kInvalidArgument;
}

// A key that does not fit the device's 32 bits opens nothing: key 0 never does.
std::uint32_t RemoteKey(std::uint64_t key) {
  return key > UINT32_MAX ? 0 : static_cast<std::uint32_t>(key);
}

}  // namespace

SimEndpoint::SimEndpoint(std::shared_ptr<QueueCore> send_queue,
                         std::shared_ptr<QueueCore> receive_queue,
                         std::shared_ptr<VectorCore> peers, QueuePair& queue_pair,
                         const fabric::Limits& limits, const CounterSet& counters,
                         std::vector<std::shared_ptr<DomainCounter>> raised)
    : send_queue_(std::move(send_queue)),
      receive_queue_(std::move(receive_queue)),
      peers_(std::move(peers)),
      domain_(peers_->domain()),
      queue_pair_(&queue_pair),
      limits_(limits),
      open_(domain_->world.surroundings(), ObjectKind::kEndpoint, domain_->nic.state()),
      datagram_(queue_pair.type == QueuePairType::kUd),
      reads_(!datagram_ && limits.max_rma_bytes > 0 && domain_->nic.profile().device.rdma_read),
      writes_(!datagram_ && limits.max_rma_bytes > 0 && domain_->nic.profile().device.rdma_write),
      address_(EfaAddress{domain_->nic.gid(), queue_pair.number, queue_pair.qkey}.Encode()),
      send_producer_(queue_pair.send.entries(), queue_pair.send.max_batch()),
      receive_producer_(queue_pair.receive.descriptors(), queue_pair.receive.descriptors()),
      sends_(limits_.send_queue_depth),
      receives_(limits_.receive_queue_depth),
      counters_(counters),
      raised_(std::move(raised)),
      counts_(counters.any()) {
  for (QueueCore* queue : {send_queue_.get(), receive_queue_.get()}) {
    if (queue->endpoints.size() <= queue_pair.number)
      queue->endpoints.resize(queue_pair.number + 1u);
    queue->endpoints[queue_pair.number] = this;
  }
  domain_->world.observers().Tell<&Observer::OnEndpointOpened>(
      EndpointOpened{.nic = domain_->nic.state(),
                     .queue_pair = queue_pair,
                     .send_depth = limits_.send_queue_depth,
                     .receive_depth = limits_.receive_queue_depth,
                     .immediates_take_receives = writes_ && !queue_pair.unsolicited_immediates,
                     .of_protocol = domain_->is_protocols,
                     .state_of = [this](fabric::Peer peer) { return StateOf(peer); }});
}

PeerState SimEndpoint::StateOf(fabric::Peer peer) const {
  const VectorCore::Entry* entry = peers_->Find(peer);
  const NicState* nic =
      entry == nullptr ? nullptr : domain_->world.surroundings().nics.Find(entry->address.gid);
  if (nic == nullptr) return PeerState::kReachable;
  return nic->StateFor(domain_->nic.state(), entry->address.queue_pair, entry->address.qkey);
}

absl::Status SimEndpoint::Close() {
  if (queue_pair_ == nullptr) return absl::OkStatus();
  const Observers& observers = domain_->world.observers();
  domain_->world.processors().Finish(domain_->nic, *queue_pair_);
  send_queue_->Forget(queue_pair_->number);
  if (receive_queue_ != send_queue_) receive_queue_->Forget(queue_pair_->number);
  observers.Tell<&Observer::OnEndpointClosing>(*queue_pair_);
  domain_->nic.admin().DestroyQueuePair(*queue_pair_);
  open_.Closed();
  queue_pair_ = nullptr;
  raised_.clear();
  send_queue_.reset();
  receive_queue_.reset();
  peers_.reset();
  domain_.reset();
  return absl::OkStatus();
}

void* SimEndpoint::QueryPower(const fabric::PowerId& power) {
  if (queue_pair_ == nullptr) return nullptr;
  if (&power == &fabric::MoreToCome::kPower) return static_cast<fabric::MoreToCome*>(this);
  if (&power != &QueueAccess::kPower) return nullptr;
  domain_->world.observers().Tell<&Observer::OnRingsTaken>(*queue_pair_);
  return static_cast<QueueAccess*>(this);
}

std::uint16_t SimEndpoint::AddressHandleOf(fabric::Peer peer) {
  const VectorCore::Entry* entry = peers_->Find(peer);
  return entry == nullptr ? AddressHandles::kUnknown : entry->handle;
}

// ---- Posting ----

DD_HOT ErrorCode SimEndpoint::Address(fabric::Peer peer, efa::SendWork& work) const {
  const VectorCore::Entry* entry = peers_->Find(peer);
  if (entry == nullptr) return ErrorCode::kUnknownPeer;
  work.address_handle = entry->handle;
  work.destination_queue_pair = entry->address.queue_pair;
  work.qkey = entry->address.qkey;
  return ErrorCode::kOk;
}

bool SimEndpoint::IsHosts(std::span<const efa::BufferDescriptor> segments) const {
  return std::all_of(segments.begin(), segments.end(), [&](const efa::BufferDescriptor& segment) {
    return domain_->world.bus().IsHost(segment.address);
  });
}

void SimEndpoint::Inline(std::span<const efa::BufferDescriptor> segments, efa::SendWork& work) {
  work.is_inline = true;
  work.segment_count = 0;
  work.inline_bytes = 0;
  work.inline_data = reinterpret_cast<const std::uint8_t*>(segments[0].address);
  if (segments.size() > 1) work.inline_data = gathered_.data();
  for (const efa::BufferDescriptor& segment : segments) {
    if (segments.size() > 1 && segment.length > 0) {
      DeviceCopy(reinterpret_cast<std::byte*>(gathered_.data()) + work.inline_bytes,
                 PointerTo(segment.address), segment.length);
    }
    work.inline_bytes = static_cast<std::uint16_t>(work.inline_bytes + segment.length);
  }
}

ErrorCode SimEndpoint::FillSend(const fabric::SendRequest& request, efa::SendWork& work) {
  if (const ErrorCode error = Address(request.peer, work); error != ErrorCode::kOk) return error;
  ErrorCode error = Collect(request.buffer, request.more, limits_.send_segments, request.inject,
                            work.segments, work.segment_count);
  if (error != ErrorCode::kOk) return error;
  if (datagram_) {  // the prefix is the provider's own
    if (work.segments[0].length < kDatagramPrefixBytes) return ErrorCode::kInvalidArgument;
    work.segments[0].length -= static_cast<std::uint32_t>(kDatagramPrefixBytes);
    work.segments[0].address += kDatagramPrefixBytes;
  }
  std::uint64_t bytes = 0;
  for (std::uint8_t i = 0; i < work.segment_count; ++i) bytes += work.segments[i].length;
  if (request.inject && bytes > limits_.inject_bytes) return ErrorCode::kMessageTooLong;
  if (request.immediate.has_value()) {
    work.has_immediate = true;
    work.immediate = *request.immediate;
  }
  // Small messages travel inside their work request, asked for or not; the CPU puts them there.
  const std::span<const efa::BufferDescriptor> segments(work.segments, work.segment_count);
  if (bytes <= limits_.inject_bytes && IsHosts(segments)) {
    Inline(segments, work);
    return ErrorCode::kOk;
  }
  return request.inject ? ErrorCode::kInvalidArgument : CheckRegistered(segments);
}

DD_HOT ErrorCode SimEndpoint::FillWrite(const fabric::WriteRequest& request,
                                        efa::SendWork& work) const {
  if (!writes_) return ErrorCode::kUnsupported;
  if (const ErrorCode error = Address(request.peer, work); error != ErrorCode::kOk) return error;
  const LocalBuffer& source = request.source;
  if (source.length_bytes > UINT32_MAX) return ErrorCode::kMessageTooLong;
  work.operation = efa::Operation::kWrite;
  work.remote = {.length = static_cast<std::uint32_t>(source.length_bytes),
                 .rkey = RemoteKey(request.target.key),
                 .address = request.target.address};
  if (request.immediate.has_value()) {
    work.has_immediate = true;
    work.immediate = *request.immediate;
  }
  if (request.inject) {
    // Only wide work requests carry the bytes of a write, not even none of them.
    const bool fits = source.length_bytes <= limits_.inject_rma_bytes;
    if (limits_.inject_rma_bytes == 0 || !fits) return ErrorCode::kMessageTooLong;
    const std::uint64_t address = reinterpret_cast<std::uint64_t>(source.data);
    if (!domain_->world.bus().IsHost(address)) return ErrorCode::kInvalidArgument;
    work.is_inline = true;
    work.inline_bytes = static_cast<std::uint16_t>(source.length_bytes);
    work.inline_data = reinterpret_cast<const std::uint8_t*>(source.data);
    return ErrorCode::kOk;
  }
  work.segment_count = 1;
  work.segments[0] = ToDescriptor(source);
  if (const ErrorCode error = CheckRegistered(source); error != ErrorCode::kOk) return error;
  return CheckSegment(source);
}

ErrorCode SimEndpoint::FillRead(const fabric::ReadRequest& request, efa::SendWork& work) const {
  if (!reads_) return ErrorCode::kUnsupported;
  if (const ErrorCode error = Address(request.peer, work); error != ErrorCode::kOk) return error;
  const LocalBuffer& target = request.target;
  work.operation = efa::Operation::kRead;
  work.remote = {.length = static_cast<std::uint32_t>(target.length_bytes),
                 .rkey = RemoteKey(request.source.key),
                 .address = request.source.address};
  work.segment_count = 1;
  work.segments[0] = ToDescriptor(target);
  if (const ErrorCode error = CheckRegistered(target); error != ErrorCode::kOk) return error;
  return CheckSegment(target);
}

template <typename Request>
[[gnu::noinline]] void SimEndpoint::TellAgain(const Request& request) const {
  domain_->world.observers().Tell<&Observer::OnAgain>(domain_->nic.state(), *queue_pair_,
                                                      Posted::Of(request));
}

template <typename Request>
[[gnu::noinline]] void SimEndpoint::TellPosted(const Request& request,
                                               const efa::SendWork& work) const {
  domain_->world.observers().Tell<&Observer::OnPosted>(*queue_pair_, work, Posted::Of(request),
                                                       peers_->Find(request.peer)->nic);
}

template <typename Request, typename Fill>
PostResult SimEndpoint::PostWork(std::span<const Request> requests, OperationKind kind, Fill fill) {
  if (queue_pair_ == nullptr) return {0, ErrorCode::kClosed};
  const QueueCall call(*send_queue_, *receive_queue_, queue_pair_->number);
  PostResult result;
  new_call_ = true;
  World& world = domain_->world;
  Processors& processors = world.processors();
  FaultPoints* const faults = world.surroundings().faults;
  const bool observed = world.observers().any();
  const SendQueue& ring = queue_pair_->send;
  for (const Request& request : requests) {
    work_.operation = efa::Operation::kSend;
    work_.has_immediate = work_.is_inline = false;
    result.error = fill(request, work_);
    if (result.error == ErrorCode::kOk && (sends_.full() || send_producer_.full())) {
      result.error = ErrorCode::kAgain;
      TellAgain(request);
    }
    if (result.error != ErrorCode::kOk) break;
    if (send_producer_.room() == 0) RingSend();  // a batch is all that the device takes at once
    work_.request_id = sends_.Take(request.context, kind);
    if (observed) TellPosted(request, work_);
    if (faults != nullptr && !request.context.has_value()) [[unlikely]] {
      faults->OnPostWithoutContext(*queue_pair_, static_cast<std::uint16_t>(work_.request_id));
    }
    processors.Address(domain_->nic, queue_pair_->number, request.peer);
    const Lifted lifted(work_.inline_data, work_.is_inline ? work_.inline_bytes : 0);
    efa::EncodeSend(work_, ring.format(), send_producer_.phase(), ring.Slot(send_producer_.slot()));
    send_producer_.Post();
    ++result.accepted;
  }
  if (send_producer_.unannounced() > 0 && !more_to_come_) RingSend();
  processors.Posted(domain_->nic, result.accepted);
  return result;
}

void SimEndpoint::RingSend() {
  const std::uint32_t requests = send_producer_.unannounced();
  domain_->world.processors().RingSend(domain_->nic, *queue_pair_, send_producer_.Ring(), requests,
                                       std::exchange(new_call_, false));
}

PostResult SimEndpoint::Send(std::span<const fabric::SendRequest> requests) {
  return PostWork(requests, OperationKind::kSend, [this](const auto& request, efa::SendWork& work) {
    return FillSend(request, work);
  });
}

PostResult SimEndpoint::Write(std::span<const fabric::WriteRequest> requests) {
  return PostWork(
      requests, OperationKind::kWrite,
      [this](const auto& request, efa::SendWork& work) { return FillWrite(request, work); });
}

PostResult SimEndpoint::Read(std::span<const fabric::ReadRequest> requests) {
  return PostWork(requests, OperationKind::kRead, [this](const auto& request, efa::SendWork& work) {
    return FillRead(request, work);
  });
}

ErrorCode SimEndpoint::FillReceive(const fabric::RecvRequest& request,
                                   efa::ReceiveWork& work) const {
  if (request.source != fabric::kNoPeer || request.multi) return ErrorCode::kUnsupported;
  if (datagram_ && request.buffer.length_bytes < kDatagramPrefixBytes)
    return ErrorCode::kInvalidArgument;
  const ErrorCode error = Collect(request.buffer, request.more, limits_.receive_segments, false,
                                  work.segments, work.segment_count);
  if (error != ErrorCode::kOk) return error;
  return CheckRegistered({work.segments, work.segment_count});
}

PostResult SimEndpoint::Recv(std::span<const fabric::RecvRequest> requests) {
  if (queue_pair_ == nullptr) return {0, ErrorCode::kClosed};
  const QueueCall call(*send_queue_, *receive_queue_, queue_pair_->number);
  PostResult result;
  World& world = domain_->world;
  ReceiveQueue& ring = queue_pair_->receive;
  for (const fabric::RecvRequest& request : requests) {
    efa::ReceiveWork work;
    result.error = FillReceive(request, work);
    const bool full = receives_.full() || receive_producer_.free() < work.segment_count;
    if (result.error == ErrorCode::kOk && full) {
      result.error = ErrorCode::kAgain;
      TellAgain(request);
    }
    if (result.error != ErrorCode::kOk) break;
    work.request_id = receives_.Take(request.context, OperationKind::kReceive, work.segment_count);
    if (world.observers().any()) {
      world.observers().Tell<&Observer::OnReceivePosted>(*queue_pair_, work, Posted::Of(request));
    }
    efa::EncodeReceive(work, ring.memory(), ring.descriptors(), receive_producer_.posted());
    receive_producer_.Post(work.segment_count);
    ++result.accepted;
  }
  world.processors().RingReceive(domain_->nic, *queue_pair_, receive_producer_.Ring(),
                                 result.accepted);
  return result;
}

}  // namespace drydock::sim
