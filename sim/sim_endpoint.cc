#include "sim/sim_endpoint.h"

#include <utility>

namespace sim {

using fabric::ErrorCode;
using fabric::OperationKind;
using fabric::PostResult;

RequestSlots::RequestSlots(std::size_t depth) : contexts_(depth) {
  for (std::size_t i = depth; i > 0; --i) free_.push_back(static_cast<std::uint16_t>(i - 1));
}

std::uint16_t RequestSlots::Take(std::optional<fabric::Context> context) {
  const std::uint16_t slot = free_.back();
  free_.pop_back();
  contexts_[slot] = context;
  return slot;
}

std::optional<fabric::Context> RequestSlots::Release(std::uint16_t request_id) {
  free_.push_back(request_id);
  return contexts_[request_id];
}

SimEndpoint::SimEndpoint(std::shared_ptr<QueueCore> send_queue,
                         std::shared_ptr<QueueCore> receive_queue,
                         std::shared_ptr<VectorCore> peers, QueuePair& queue_pair)
    : send_queue_(std::move(send_queue)),
      receive_queue_(std::move(receive_queue)),
      peers_(std::move(peers)),
      domain_(peers_->domain),
      queue_pair_(&queue_pair),
      address_(EfaAddress{domain_->nic.gid(), queue_pair.number, queue_pair.qkey}.Encode()),
      limits_(domain_->info.limits),
      sends_(domain_->info.limits.send_queue_depth),
      receives_(domain_->info.limits.receive_queue_depth) {
  for (QueueCore* queue : {send_queue_.get(), receive_queue_.get()}) {
    if (queue->endpoints.size() <= queue_pair.number)
      queue->endpoints.resize(queue_pair.number + 1);
    queue->endpoints[queue_pair.number] = this;
  }
}

absl::Status SimEndpoint::Close() {
  if (queue_pair_ == nullptr) return absl::OkStatus();
  send_queue_->endpoints[queue_pair_->number] = nullptr;
  receive_queue_->endpoints[queue_pair_->number] = nullptr;
  domain_->nic.DestroyQueuePair(*queue_pair_);
  queue_pair_ = nullptr;
  send_queue_.reset();
  receive_queue_.reset();
  peers_.reset();
  domain_.reset();
  return absl::OkStatus();
}

ErrorCode SimEndpoint::Prepare(fabric::Peer peer, std::optional<fabric::Context> context,
                               SendWork& work) {
  const EfaAddress* destination = peers_->Find(peer);
  if (destination == nullptr) return ErrorCode::kUnknownPeer;
  if (sends_.full()) return ErrorCode::kAgain;
  work.destination = *destination;
  work.request_id = sends_.Take(context);
  return ErrorCode::kOk;
}

template <typename Request, typename Convert>
PostResult SimEndpoint::PostWork(std::span<const Request> requests, Convert convert) {
  PostResult result;
  if (queue_pair_ == nullptr) return {0, ErrorCode::kClosed};
  batch_.clear();
  for (const Request& request : requests) {
    SendWork work = convert(request);
    result.error = Prepare(request.peer, request.context, work);
    if (result.error != ErrorCode::kOk) break;
    batch_.push_back(work);
  }
  result.accepted = batch_.size();
  const Profile& profile = domain_->world.profile();
  if (!batch_.empty()) domain_->nic.Send(*queue_pair_, batch_);
  domain_->world.Charge(profile.doorbell_cost + profile.post_cost * batch_.size());
  return result;
}

PostResult SimEndpoint::Send(std::span<const fabric::SendRequest> requests) {
  return PostWork(requests, [](const fabric::SendRequest& request) {
    return SendWork{
        .kind = OperationKind::kSend, .local = request.buffer, .immediate = request.immediate};
  });
}

PostResult SimEndpoint::Write(std::span<const fabric::WriteRequest> requests) {
  return PostWork(requests, [](const fabric::WriteRequest& request) {
    return SendWork{.kind = OperationKind::kWrite,
                    .local = request.source,
                    .remote = request.target,
                    .immediate = request.immediate};
  });
}

PostResult SimEndpoint::Read(std::span<const fabric::ReadRequest> requests) {
  return PostWork(requests, [](const fabric::ReadRequest& request) {
    return SendWork{
        .kind = OperationKind::kRead, .local = request.target, .remote = request.source};
  });
}

PostResult SimEndpoint::Recv(std::span<const fabric::RecvRequest> requests) {
  if (queue_pair_ == nullptr) return {0, ErrorCode::kClosed};
  receive_batch_.clear();
  ErrorCode error = ErrorCode::kOk;
  for (const fabric::RecvRequest& request : requests) {
    if (receives_.full()) {
      error = ErrorCode::kAgain;
      break;
    }
    receive_batch_.push_back({receives_.Take(request.context), request.buffer});
  }
  const Profile& profile = domain_->world.profile();
  if (!receive_batch_.empty()) domain_->nic.Receive(*queue_pair_, receive_batch_);
  domain_->world.Charge(profile.doorbell_cost + profile.post_cost * receive_batch_.size());
  return {receive_batch_.size(), error};
}

bool SimEndpoint::Translate(const DeviceCompletion& entry, fabric::Completion& completion) {
  const bool of_receive =
      entry.kind == OperationKind::kReceive || entry.kind == OperationKind::kRemoteWrite;
  completion = {};
  if (!entry.unsolicited) {
    completion.context = (of_receive ? receives_ : sends_).Release(entry.request_id);
  }
  const bool unsignalled = !entry.unsolicited && !completion.context.has_value();
  if (unsignalled && entry.status == 0) return false;
  completion.kind = entry.kind;
  completion.error = fabric::FromEfaStatus(entry.status);
  completion.provider_error = entry.status;
  if (entry.has_immediate) completion.immediate = entry.immediate;
  completion.length_bytes = entry.length_bytes;
  return true;
}

}  // namespace sim
