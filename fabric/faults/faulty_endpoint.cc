#include "drydock/fabric/faults/faulty_endpoint.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

namespace drydock::fabric::faults {
namespace {

constexpr OperationKind KindOf(const SendRequest&) { return OperationKind::kSend; }
constexpr OperationKind KindOf(const RecvRequest&) { return OperationKind::kReceive; }
constexpr OperationKind KindOf(const WriteRequest&) { return OperationKind::kWrite; }
constexpr OperationKind KindOf(const ReadRequest&) { return OperationKind::kRead; }

std::uint64_t BytesOf(const LocalBuffer& first, MoreSegments more) {
  std::uint64_t bytes = first.length_bytes;
  for (const LocalBuffer& segment : more) bytes += segment.length_bytes;
  return bytes;
}

void Describe(const SendRequest& request, EventView& view) {
  view.size_bytes = BytesOf(request.buffer, request.more);
  view.immediate = request.immediate;
}

void Describe(const RecvRequest& request, EventView& view) {
  view.size_bytes = BytesOf(request.buffer, request.more);
  view.direction = Direction::kTarget;
}

void Describe(const WriteRequest& request, EventView& view) {
  view.size_bytes = request.source.length_bytes;
  view.immediate = request.immediate;
  view.key = request.target.key;
}

void Describe(const ReadRequest& request, EventView& view) {
  view.size_bytes = request.target.length_bytes;
  view.key = request.source.key;
}

// Whether the operation never reaches the fabric below: nothing of it is placed.
bool IsUnposted(const Firing& outcome) {
  switch (outcome.fault()) {
    case Fault::kLostCompletion:
      return false;
    case Fault::kDroppedPeer:
    case Fault::kUnsignalledError:
      return true;
    default:
      if (!StatusOf(outcome.fault()).has_value()) RefuseFault(outcome.fault());
      return outcome.parameters().placed_percent == 0;
  }
}

// How many requests of a batch are taken at most.
std::size_t MostAccepted(const Firing& batch) {
  if (batch.fault() != Fault::kPartialBatch) RefuseFault(batch.fault());
  return static_cast<std::size_t>(batch.parameters().accept);
}

}  // namespace

FaultyEndpoint::FaultyEndpoint(std::unique_ptr<Endpoint> wrapped, std::shared_ptr<Session> session,
                               std::shared_ptr<QueueCore> send_queue,
                               std::shared_ptr<QueueCore> receive_queue,
                               std::shared_ptr<PeerDirectory> peers, std::string nic)
    : ForwardingEndpoint(std::move(wrapped)),
      session_(std::move(session)),
      send_queue_(std::move(send_queue)),
      receive_queue_(std::move(receive_queue)),
      peers_(std::move(peers)),
      nic_(std::move(nic)),
      number_(session_->NumberEndpoint()) {
  state_.peers = peers_.get();
  receive_queue_->Receives(&state_);
  for (const OperationKind kind : {OperationKind::kSend, OperationKind::kReceive,
                                   OperationKind::kWrite, OperationKind::kRead}) {
    const bool concerned = session_->Concerns(Point::kPost, kind) ||
                           session_->Concerns(Point::kBatch, kind) || send_queue_->Tracks(kind);
    if (concerned) concerned_.Add(kind);
  }
}

// The tracked operations go before the wrapped endpoint, whose end may flush them.
FaultyEndpoint::~FaultyEndpoint() { Forget(); }

absl::Status FaultyEndpoint::Close() {
  closed_ = true;
  Forget();
  return wrapped().Close();
}

void* FaultyEndpoint::QueryPower(const PowerId& power) {
  void* below = ForwardingEndpoint::QueryPower(power);
  if (below == nullptr || &power != &MoreToCome::kPower) return below;
  for (const OperationKind kind :
       {OperationKind::kSend, OperationKind::kWrite, OperationKind::kRead}) {
    if (session_->Concerns(Point::kOutcome, kind)) return static_cast<MoreToCome*>(this);
  }
  return below;
}

void FaultyEndpoint::Forget() {
  send_queue_->Forget(&state_);
  receive_queue_->Forget(&state_);
}

PostResult FaultyEndpoint::Send(std::span<const SendRequest> requests) { return Post(requests); }
PostResult FaultyEndpoint::Recv(std::span<const RecvRequest> requests) { return Post(requests); }
PostResult FaultyEndpoint::Write(std::span<const WriteRequest> requests) { return Post(requests); }
PostResult FaultyEndpoint::Read(std::span<const ReadRequest> requests) { return Post(requests); }

template <typename Request>
PostResult FaultyEndpoint::Post(std::span<const Request> requests) {
  if (requests.empty()) return Forward(requests);
  const OperationKind kind = KindOf(requests.front());
  const Refusal& refusal = kind == OperationKind::kReceive ? receives_ : sends_;
  if (closed_ || (!concerned_.Has(kind) && !refusal.active())) return Forward(requests);
  std::size_t most = requests.size();
  EventView view;
  if (most > 1 && session_->Concerns(Point::kBatch, kind) && Look(requests.front(), view)) {
    const Firing firing = session_->Decide(Point::kBatch, view);
    if (firing) most = std::min(most, MostAccepted(firing));
  }
  PostResult result;
  for (const Request& request : requests.first(most)) {
    result.error = PostOne(request);
    if (result.error != ErrorCode::kOk) return result;
    ++result.accepted;
  }
  if (most < requests.size()) result.error = ErrorCode::kAgain;
  return result;
}

template <typename Request>
bool FaultyEndpoint::Look(const Request& request, EventView& view) const {
  view.nic = nic_;
  view.queue = number_;
  view.operation = KindOf(request);
  view.signalled = request.context.has_value();
  Describe(request, view);
  if constexpr (!std::is_same_v<Request, RecvRequest>) {
    view.peer = peers_->NumberOf(request.peer);
    return view.peer.has_value();
  }
  return true;
}

template <typename Request>
ErrorCode FaultyEndpoint::PostOne(const Request& request) {
  constexpr bool kReceives = std::is_same_v<Request, RecvRequest>;
  EventView view;
  if (!Look(request, view)) return Forward(std::span(&request, 1)).error;
  Refusal& refusal = kReceives ? receives_ : sends_;
  const std::uint64_t polls = (kReceives ? receive_queue_ : send_queue_)->polls();
  if (refusal.active() && refusal.Refuses(polls)) return ErrorCode::kAgain;
  if (!refusal.TakePass()) {
    const Firing firing = session_->Decide(Point::kPost, view);
    if (firing) return Refuse(firing, polls, refusal);
  }
  if constexpr (!kReceives) {
    if (send_queue_->Tracks(*view.operation)) return PostTracked(request, view);
  }
  return Forward(std::span(&request, 1)).error;
}

ErrorCode FaultyEndpoint::Refuse(const Firing& firing, std::uint64_t polls, Refusal& refusal) {
  switch (firing.fault()) {
    case Fault::kSendQueueFull:
    case Fault::kReceiveQueueFull:
      return ErrorCode::kAgain;
    case Fault::kAgainUntilPolled:
      refusal.UntilPolledAfter(polls);
      return ErrorCode::kAgain;
    case Fault::kAgainThenAccepted:
      refusal.Attempts(firing.parameters().attempts - 1);
      return ErrorCode::kAgain;
    case Fault::kPostRefused:
      return firing.parameters().error;
    default:
      RefuseFault(firing.fault());
  }
}

// The outcome of an operation is decided when it was accepted, and not for an attempt that the
// fabric refuses: rules count operations.
template <typename Request>
ErrorCode FaultyEndpoint::PostTracked(const Request& request, const EventView& view) {
  TrackedOperation operation{.endpoint = &state_,
                             .kind = *view.operation,
                             .peer = request.peer,
                             .context = request.context};
  const Firing foreseen = session_->Foresee(Point::kOutcome, view);
  std::optional<OperationFaults> decided;
  if (foreseen && IsUnposted(foreseen)) {
    if (state_.unposted >= limits().send_queue_depth) return ErrorCode::kAgain;
    decided = OperationFaults{session_->Decide(Point::kOutcome, view),
                              session_->Decide(Point::kTiming, view)};
    // Meanwhile the rule's window may have passed, or another thread's operation had its firing.
    if (decided->outcome && IsUnposted(decided->outcome)) {
      operation.faults = *decided;
      send_queue_->CompleteUnposted(operation);
      return ErrorCode::kOk;
    }
  }
  Request tracked = request;
  tracked.context = send_queue_->Track(operation);
  const ErrorCode error = Forward(std::span<const Request>(&tracked, 1)).error;
  if (error != ErrorCode::kOk) {
    send_queue_->Untrack(*tracked.context);
    return error;
  }
  if (!decided.has_value()) {
    decided = OperationFaults{session_->Decide(Point::kOutcome, view),
                              session_->Decide(Point::kTiming, view)};
  }
  send_queue_->SetFaults(*tracked.context, *decided);
  return error;
}

}  // namespace drydock::fabric::faults
