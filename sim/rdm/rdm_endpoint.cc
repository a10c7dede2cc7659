#include "drydock/sim/rdm/rdm_endpoint.h"

#include <algorithm>
#include <utility>

#include "drydock/sim/rdm/atomic_call.h"

namespace drydock::sim::rdm {

using fabric::ErrorCode;
using fabric::PostResult;

absl::StatusOr<std::unique_ptr<fabric::Endpoint>> OpenRdmEndpoint(
    const std::shared_ptr<DomainCore>& domain, const std::shared_ptr<QueueCore>& send_queue,
    const std::shared_ptr<QueueCore>& receive_queue, const std::shared_ptr<VectorCore>& peers,
    std::optional<std::uint32_t> retries, Counters counters) {
  auto engine = Engine::Open({.settings = domain->settings,
                              .alarm = *domain->alarm,
                              .device = *domain->device,
                              .memory = domain->memory,
                              .sends = send_queue->sink,
                              .receives = receive_queue->sink,
                              .book = peers->book,
                              .limits = domain->info.limits,
                              .owner = domain->next_endpoint++,
                              .queue_depth = std::max(send_queue->depth, receive_queue->depth),
                              .retries = retries,
                              .counters = std::move(counters)});
  if (!engine.ok()) return engine.status();
  return std::make_unique<RdmEndpoint>(send_queue, receive_queue, peers, *std::move(engine));
}

RdmEndpoint::RdmEndpoint(std::shared_ptr<QueueCore> send_queue,
                         std::shared_ptr<QueueCore> receive_queue,
                         std::shared_ptr<VectorCore> peers, std::unique_ptr<Engine> engine)
    : send_queue_(std::move(send_queue)),
      receive_queue_(std::move(receive_queue)),
      peers_(std::move(peers)),
      engine_(std::move(engine)),
      limits_(peers_->domain->info.limits),
      address_(engine_->address()),
      operand_bytes_(limits_.mtu_bytes - kMaxHeaderBytes) {}

absl::Status RdmEndpoint::Close() {
  if (engine_ == nullptr) return absl::OkStatus();
  last_statistics_ = engine_->statistics();
  if (engine_->Leave()) peers_->domain->leaving.push_back(std::move(engine_));
  engine_.reset();
  send_queue_.reset();
  receive_queue_.reset();
  peers_.reset();
  return absl::OkStatus();
}

void* RdmEndpoint::QueryPower(const fabric::PowerId& power) {
  if (&power == &fabric::TaggedMessages::kPower) return static_cast<fabric::TaggedMessages*>(this);
  if (&power == &fabric::Atomics::kPower) return static_cast<fabric::Atomics*>(this);
  if (&power == &fabric::Cancel::kPower) return static_cast<fabric::Cancel*>(this);
  if (&power == &EndpointStatistics::kPower) return static_cast<EndpointStatistics*>(this);
  return nullptr;
}

template <typename Request, typename Post>
PostResult RdmEndpoint::PostEach(std::span<const Request> requests, Post post) {
  if (engine_ == nullptr) return {0, ErrorCode::kClosed};
  PostResult result;
  for (const Request& request : requests) {
    result.error = post(request);
    if (result.error != ErrorCode::kOk) break;
    ++result.accepted;
  }
  engine_->Flush();
  return result;
}

PostResult RdmEndpoint::Send(std::span<const fabric::SendRequest> requests) {
  return PostEach(requests, [this](const fabric::SendRequest& request) {
    if (request.more.size() >= kMaxSegments) return ErrorCode::kInvalidArgument;
    return engine_->initiator().Send({.source = ScatterList(request.buffer, request.more),
                                      .peer = request.peer,
                                      .immediate = request.immediate,
                                      .context = request.context,
                                      .inject = request.inject});
  });
}

PostResult RdmEndpoint::SendTagged(std::span<const fabric::TaggedSendRequest> requests) {
  return PostEach(requests, [this](const fabric::TaggedSendRequest& request) {
    return engine_->initiator().Send({.source = ScatterList(request.buffer),
                                      .peer = request.peer,
                                      .tagged = true,
                                      .tag = request.tag,
                                      .immediate = request.immediate,
                                      .context = request.context,
                                      .inject = request.inject});
  });
}

PostResult RdmEndpoint::Write(std::span<const fabric::WriteRequest> requests) {
  return PostEach(requests, [this](const fabric::WriteRequest& request) {
    return engine_->initiator().Write(request);
  });
}

PostResult RdmEndpoint::Read(std::span<const fabric::ReadRequest> requests) {
  return PostEach(requests, [this](const fabric::ReadRequest& request) {
    return engine_->initiator().Read(request);
  });
}

ErrorCode RdmEndpoint::PostReceive(fabric::Peer source, PostedReceive receive) {
  if (source != fabric::kNoPeer) {
    receive.source = engine_->book().Find(source);
    if (receive.source == nullptr) return ErrorCode::kUnknownPeer;
  }
  if (engine_->receives().full()) return ErrorCode::kAgain;
  engine_->PostReceive(receive);
  return ErrorCode::kOk;
}

PostResult RdmEndpoint::Recv(std::span<const fabric::RecvRequest> requests) {
  return PostEach(requests, [this](const fabric::RecvRequest& request) {
    const bool too_many = request.more.size() >= kMaxSegments;
    if (too_many || (request.multi && !request.more.empty())) return ErrorCode::kInvalidArgument;
    PostedReceive receive{.buffer = ScatterList(request.buffer, request.more),
                          .context = request.context};
    if (request.multi) receive.multi = std::make_shared<MultiBuffer>();
    return PostReceive(request.source, std::move(receive));
  });
}

PostResult RdmEndpoint::RecvTagged(std::span<const fabric::TaggedRecvRequest> requests) {
  return PostEach(requests, [this](const fabric::TaggedRecvRequest& request) {
    return PostReceive(request.source, {.buffer = ScatterList(request.buffer),
                                        .context = request.context,
                                        .tagged = true,
                                        .tag = request.tag,
                                        .ignore = request.ignore});
  });
}

ErrorCode RdmEndpoint::Atomic(const fabric::AtomicRequest& request) {
  return PostEach(
             std::span(&request, 1),
             [this](const fabric::AtomicRequest& one) { return engine_->initiator().Atomic(one); })
      .error;
}

std::size_t RdmEndpoint::MaxAtomicBytes(fabric::AtomicOperation operation, fabric::AtomicType type,
                                        bool fetching) const {
  return MaxAtomicOperand(operation, type, fetching, operand_bytes_);
}

ErrorCode RdmEndpoint::CancelReceive(fabric::Context context) {
  if (engine_ == nullptr) return ErrorCode::kClosed;
  return engine_->target().CancelReceive(context);
}

}  // namespace drydock::sim::rdm
