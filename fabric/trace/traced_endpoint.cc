#include "drydock/fabric/trace/traced_endpoint.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "drydock/coro/status_macros.h"

namespace drydock::fabric::trace {
namespace {

// ---- The fields of a request of each kind ----

constexpr OperationKind KindOf(const SendRequest&) { return OperationKind::kSend; }
constexpr OperationKind KindOf(const RecvRequest&) { return OperationKind::kReceive; }
constexpr OperationKind KindOf(const WriteRequest&) { return OperationKind::kWrite; }
constexpr OperationKind KindOf(const ReadRequest&) { return OperationKind::kRead; }
constexpr OperationKind KindOf(const TaggedSendRequest&) { return OperationKind::kTaggedSend; }
constexpr OperationKind KindOf(const TaggedRecvRequest&) { return OperationKind::kTaggedReceive; }

constexpr bool IsReceive(OperationKind kind) {
  return kind == OperationKind::kReceive || kind == OperationKind::kTaggedReceive;
}

const LocalBuffer& BufferOf(const WriteRequest& request) { return request.source; }
const LocalBuffer& BufferOf(const ReadRequest& request) { return request.target; }
template <typename Request>
const LocalBuffer& BufferOf(const Request& request) {
  return request.buffer;
}

template <typename Request>
MoreSegments MoreOf(const Request& request) {
  if constexpr (requires { request.more; }) return request.more;
  return {};
}

template <typename Request>
std::uint64_t BytesOf(const Request& request) {
  std::uint64_t bytes = BufferOf(request).length_bytes;
  for (const LocalBuffer& segment : MoreOf(request)) bytes += segment.length_bytes;
  return bytes;
}

template <typename Request>
RemoteBuffer RemoteOf(const Request& request) {
  if constexpr (std::is_same_v<Request, WriteRequest>) return request.target;
  if constexpr (std::is_same_v<Request, ReadRequest>) return request.source;
  return {};
}

void SetPeer(Peer peer, Event& event) {
  event.peer = static_cast<std::uint64_t>(peer);
  event.flags |= kHasPeer;
}

void Describe(const SendRequest& request, Event& event) { SetPeer(request.peer, event); }
void Describe(const RecvRequest&, Event&) {}
void Describe(const TaggedSendRequest& request, Event& event) {
  SetPeer(request.peer, event);
  event.offset = request.tag;
}
void Describe(const TaggedRecvRequest& request, Event& event) {
  event.offset = request.tag;
  event.peer = request.ignore;
}
template <typename Request>
void Describe(const Request& request, Event& event) {
  SetPeer(request.peer, event);
  event.address = RemoteOf(request).address;
  event.key = RemoteOf(request).key;
  event.flags |= kHasRemote;
}

JsonMembers MembersOf(const Endpoint& endpoint, const std::string& nic,
                      const EndpointOptions& options, const TracedQueue& send_queue,
                      const TracedQueue& receive_queue, const TracedVector& peers) {
  JsonMembers members;
  members.Text("nic", nic)
      .Text("address", endpoint.address().ToHex())
      .Text("type", options.type == EndpointType::kDatagram ? "datagram" : "reliable")
      .Unsigned("send_queue", send_queue.object)
      .Unsigned("receive_queue", receive_queue.object)
      .Unsigned("address_vector", peers.object);
  return members;
}

}  // namespace

TracedEndpoint::TracedEndpoint(std::unique_ptr<Endpoint> wrapped,
                               std::shared_ptr<TracedSession> session, const std::string& nic,
                               const EndpointOptions& options, const TracedQueue& send_queue,
                               const TracedQueue& receive_queue, const TracedVector& peers)
    : ForwardingEndpoint(std::move(wrapped)),
      object_(session, "endpoint", nic,
              MembersOf(*this, nic, options, send_queue, receive_queue, peers)),
      sends_(send_queue.pending),
      receives_(receive_queue.pending),
      address_(address()) {
  const std::uint32_t number = session->Number(nic, TrackKind::kSendQueue);
  send_track_ = session->TrackOf(nic, TrackKind::kSendQueue, number);
  receive_track_ = session->TrackOf(nic, TrackKind::kReceiveQueue, number);
  if (!session->device_completes) return;
  work_ =
      std::make_shared<PostedWork>(PostedWork::Queue{send_track_, object_.id()},
                                   PostedWork::Queue{send_queue.track, send_queue.object},
                                   PostedWork::Queue{receive_queue.track, receive_queue.object});
  session->recorder.AddWork(address_, work_);
}

TracedEndpoint::~TracedEndpoint() { Forget(); }

absl::Status TracedEndpoint::Close() {
  RETURN_IF_ERROR(ForwardingEndpoint::Close());
  Forget();
  object_.Closed();
  return absl::OkStatus();
}

void TracedEndpoint::Forget() {
  sends_->Forget(object_.id());
  receives_->Forget(object_.id());
  if (std::exchange(work_, nullptr) != nullptr) {
    object_.session().recorder.RemoveWork(address_);
  }
}

void* TracedEndpoint::QueryPower(const PowerId& power) {
  void* const theirs = ForwardingEndpoint::QueryPower(power);
  if (&power != &TaggedMessages::kPower || theirs == nullptr) return theirs;
  tagged_ = static_cast<TaggedMessages*>(theirs);
  return static_cast<TaggedMessages*>(this);
}

// ---- Posting ----

PostResult TracedEndpoint::Send(std::span<const SendRequest> requests) {
  return Post(requests, [this](auto some) { return wrapped().Send(some); });
}
PostResult TracedEndpoint::Recv(std::span<const RecvRequest> requests) {
  return Post(requests, [this](auto some) { return wrapped().Recv(some); });
}
PostResult TracedEndpoint::Write(std::span<const WriteRequest> requests) {
  return Post(requests, [this](auto some) { return wrapped().Write(some); });
}
PostResult TracedEndpoint::Read(std::span<const ReadRequest> requests) {
  return Post(requests, [this](auto some) { return wrapped().Read(some); });
}
PostResult TracedEndpoint::SendTagged(std::span<const TaggedSendRequest> requests) {
  return Post(requests, [this](auto some) { return tagged_->SendTagged(some); });
}
PostResult TracedEndpoint::RecvTagged(std::span<const TaggedRecvRequest> requests) {
  return Post(requests, [this](auto some) { return tagged_->RecvTagged(some); });
}

template <typename Request, typename Forward>
PostResult TracedEndpoint::Post(std::span<const Request> requests, Forward forward) {
  if (requests.empty()) return forward(requests);
  TracedSession& session = object_.session();
  const std::uint64_t first = session.recorder.NewOperations(session.node, requests.size());
  const std::int64_t from = session.recorder.Now();
  // Closing may come while the post is under way: no member is looked at for the last time here.
  const std::shared_ptr<PostedWork> work = work_;
  if (work != nullptr) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Request& request = requests[i];
      work->Posting({first + i, KindOf(request), BytesOf(request), RemoteOf(request).address});
    }
  }
  const PostResult result = forward(requests);
  if (work != nullptr) {
    for (std::size_t i = result.accepted; i < requests.size(); ++i) {
      work->Refused(KindOf(requests[i]));
    }
  }
  Record(requests, result, first, from);
  return result;
}

template <typename Request>
void TracedEndpoint::Record(std::span<const Request> requests, const PostResult& result,
                            std::uint64_t first, std::int64_t from) {
  TracedSession& session = object_.session();
  const std::int64_t lasted = session.recorder.Now() - from;
  const bool refused = result.accepted < requests.size();
  // Those behind a refused one were not looked at.
  const std::size_t told = result.accepted + (refused ? 1 : 0);
  PendingOperations& pending = IsReceive(KindOf(requests[0])) ? *receives_ : *sends_;
  events_.clear();
  for (std::size_t i = 0; i < told; ++i) {
    const Request& request = requests[i];
    Event& event = events_[Add(request)];
    event.duration_ns = lasted / static_cast<std::int64_t>(told);
    // A simulated device takes all of them at once, and lets the time of posting pass afterwards.
    const auto before = session.device_completes ? 0 : static_cast<std::int64_t>(i);
    event.time_ns = from + before * event.duration_ns;
    if (i == result.accepted) {
      event.error = result.error;
      continue;
    }
    event.op = first + i;
    if (session.payload != nullptr) AddPayload(request, event);
    if (!request.context.has_value()) continue;
    bool multi = false;
    if constexpr (std::is_same_v<Request, RecvRequest>) multi = request.multi;
    pending.Add(*request.context, KindOf(request), {first + i, object_.id(), multi});
  }
  session.recorder.Record(events_);
  if (result.accepted == 0) return;
  Event doorbell;
  doorbell.time_ns = from + lasted;
  doorbell.bytes = result.accepted;
  doorbell.track = IsReceive(KindOf(requests[0])) ? receive_track_ : send_track_;
  doorbell.object = object_.id();
  doorbell.kind = Kind::kDoorbell;
  session.recorder.Record(doorbell);
}

template <typename Request>
std::size_t TracedEndpoint::Add(const Request& request) {
  const std::size_t at = events_.size();
  const OperationKind kind = KindOf(request);
  Event& event = events_.emplace_back();
  event.op_node = object_.session().node;
  event.bytes = BytesOf(request);
  event.track = IsReceive(kind) ? receive_track_ : send_track_;
  event.object = object_.id();
  event.kind = Kind::kPost;
  event.operation = kind;
  if (request.context.has_value()) event.flags |= kSignalled;
  if constexpr (requires { request.immediate; }) {
    if (request.immediate.has_value()) event.flags |= kHasImmediate;
    event.immediate = request.immediate.value_or(0);
  }
  if constexpr (requires { request.inject; }) {
    if (request.inject) event.flags |= kInject;
  }
  Describe(request, event);
  AddSegment(BufferOf(request));
  for (const LocalBuffer& segment : MoreOf(request)) AddSegment(segment);
  return at;
}

template <typename Request>
void TracedEndpoint::AddPayload(const Request& request, Event& event) {
  TracedSession& session = object_.session();
  if (IsReceive(event.operation)) return;
  if (event.operation == OperationKind::kRead) {
    session.payload->Reads(session.node, event.op, BufferOf(request));
    return;
  }
  std::string bytes = session.payload->Sent(BufferOf(request), MoreOf(request));
  if (!bytes.empty()) event.text = session.recorder.Text(std::move(bytes), /*flight=*/false);
}

void TracedEndpoint::AddSegment(const LocalBuffer& buffer) {
  Event& segment = events_.emplace_back();
  segment.address = reinterpret_cast<std::uint64_t>(buffer.data);
  segment.bytes = buffer.length_bytes;
  segment.kind = Kind::kSegment;
  object_.session().recorder.Locate(object_.nic(), buffer.local_key, segment);
}

}  // namespace drydock::fabric::trace
