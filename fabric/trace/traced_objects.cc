#include "drydock/fabric/trace/traced_objects.h"

#include <utility>

#include "drydock/coro/status_macros.h"

namespace drydock::fabric::trace {
namespace {

JsonMembers MembersOf(const MemoryRegion& region, const std::string& nic) {
  const RemoteBuffer remote = region.remote();
  JsonMembers members;
  members.Text("nic", nic)
      .Unsigned("length", region.length_bytes())
      .Hex("memory", reinterpret_cast<std::uint64_t>(region.data()))
      .Hex("address", remote.address)
      .Hex("key", remote.key)
      .Raw("access", JsonList(region.access()));
  return members;
}

}  // namespace

// ---- Memory regions ----

TracedMemoryRegion::TracedMemoryRegion(std::unique_ptr<MemoryRegion> wrapped,
                                       std::shared_ptr<TracedSession> session,
                                       const std::string& nic, const MemoryRequest& request)
    : wrapped_(std::move(wrapped)),
      local_key_(wrapped_->local_key()),
      remote_key_(wrapped_->remote().key),
      object_(session, "region", nic,
              MembersOf(*wrapped_, nic)
                  .Members(session->payload == nullptr ? ""
                                                       : session->payload->Opened(this, request))) {
  object_.session().recorder.AddRegion(
      object_.nic(),
      {object_.id(), reinterpret_cast<std::uint64_t>(wrapped_->data()), wrapped_->length_bytes()},
      local_key_, remote_key_);
}

TracedMemoryRegion::~TracedMemoryRegion() { Closed(); }

absl::Status TracedMemoryRegion::Close() {
  RETURN_IF_ERROR(wrapped_->Close());
  Closed();
  return absl::OkStatus();
}

void TracedMemoryRegion::Closed() {
  if (!std::exchange(known_, false)) return;
  TracedSession& shared = object_.session();
  shared.recorder.RemoveRegion(object_.nic(), object_.id(), local_key_, remote_key_);
  JsonMembers members;
  if (shared.payload != nullptr) members.Members(shared.payload->Closed(this));
  object_.Closed(members);
}

// ---- Completion queues ----

TracedCompletionQueue::TracedCompletionQueue(std::unique_ptr<CompletionQueue> wrapped,
                                             std::shared_ptr<TracedSession> session,
                                             const std::string& nic)
    : ForwardingCompletionQueue(std::move(wrapped)),
      object_(session, "completion queue", nic,
              JsonMembers().Text("nic", nic).Unsigned("depth", depth())) {
  queue_.object = object_.id();
  queue_.track = session->TrackOf(nic, TrackKind::kCompletionQueue,
                                  session->Number(nic, TrackKind::kCompletionQueue));
}

ReadResult TracedCompletionQueue::Read(std::span<Completion> entries) {
  const std::int64_t from = object_.session().recorder.Now();
  const ReadResult result = ForwardingCompletionQueue::Read(entries);
  if (result.count > 0 || (result.error != ErrorCode::kOk && result.error != ErrorCode::kClosed)) {
    Record(entries.first(result.count), result, from);
  }
  return result;
}

void TracedCompletionQueue::Record(std::span<const Completion> read, const ReadResult& result,
                                   std::int64_t from) {
  TracedSession& session = object_.session();
  last_.clear();
  events_.clear();
  std::string got;  // by reads
  for (const Completion& completion : read) {
    Event& event = events_.emplace_back();
    event.time_ns = from;
    event.op = queue_.pending->Take(completion);
    event.op_node = session.node;
    event.bytes = completion.length_bytes;
    event.track = queue_.track;
    event.object = queue_.object;
    event.immediate = completion.immediate.value_or(0);
    event.provider_error = completion.provider_error;
    event.kind = Kind::kCompletion;
    event.operation = completion.kind;
    event.error = completion.error;
    event.flags = completion.immediate.has_value() ? kHasImmediate : 0;
    last_.push_back(event.op);
    if (session.payload != nullptr && completion.kind == OperationKind::kRead) {
      const std::string bytes = session.payload->Got(session.node, event.op, completion.ok());
      if (!bytes.empty()) got += got.empty() ? bytes : "," + bytes;
    }
    if (!session.device_completes) session.recorder.Record(event);
    event.kind = Kind::kPolled;
  }
  Event poll;
  const std::int64_t now = session.recorder.Now();
  // In virtual time a look takes its time first: the entries that it finds may have come meanwhile.
  poll.time_ns = session.device_completes ? now : from;
  poll.duration_ns = now - poll.time_ns;
  poll.bytes = result.count;
  poll.track = queue_.track;
  poll.object = queue_.object;
  poll.kind = Kind::kPoll;
  poll.error = result.error;
  if (!got.empty()) poll.text = session.recorder.Text("\"reads\":[" + got + "]", false);
  events_.insert(events_.begin(), poll);
  session.recorder.Record(events_);
}

void TracedCompletionQueue::OnResume(std::size_t index) {
  if (index >= last_.size() || last_[index] == 0) return;
  TracedSession& session = object_.session();
  Event event;
  event.time_ns = session.recorder.Now();
  event.op = last_[index];
  event.op_node = session.node;
  event.track = session.program_track;
  event.kind = Kind::kResume;
  session.recorder.Record(event);
}

absl::Status TracedCompletionQueue::Close() {
  RETURN_IF_ERROR(ForwardingCompletionQueue::Close());
  object_.Closed();
  return absl::OkStatus();
}

void* TracedCompletionQueue::QueryPower(const PowerId& power) {
  if (&power == &ResumeListener::kPower) return static_cast<ResumeListener*>(this);
  if (&power == &TracedQueue::kPower) return &queue_;
  return ForwardingCompletionQueue::QueryPower(power);
}

// ---- Address vectors ----

TracedAddressVector::TracedAddressVector(std::unique_ptr<AddressVector> wrapped,
                                         std::shared_ptr<TracedSession> session,
                                         const std::string& nic)
    : ForwardingAddressVector(std::move(wrapped)),
      session_(session),
      nic_(nic),
      object_(std::move(session), "address vector", nic, JsonMembers().Text("nic", nic)) {
  vector_.object = object_.id();
}

absl::StatusOr<Peer> TracedAddressVector::Insert(const Address& address) {
  ASSIGN_OR_RETURN(const Peer peer, ForwardingAddressVector::Insert(address));
  JsonMembers members;
  members.Unsigned("address_vector", object_.id())
      .Unsigned("peer", static_cast<std::uint64_t>(peer))
      .Text("address", address.ToHex());
  std::unique_ptr<TracedObject>& known = peers_[peer];
  if (known == nullptr) known = std::make_unique<TracedObject>(session_, "peer", nic_, members);
  return peer;
}

absl::Status TracedAddressVector::Remove(Peer peer) {
  RETURN_IF_ERROR(ForwardingAddressVector::Remove(peer));
  peers_.erase(peer);
  return absl::OkStatus();
}

absl::Status TracedAddressVector::Close() {
  RETURN_IF_ERROR(ForwardingAddressVector::Close());
  peers_.clear();
  object_.Closed();
  return absl::OkStatus();
}

void* TracedAddressVector::QueryPower(const PowerId& power) {
  if (&power == &TracedVector::kPower) return &vector_;
  return ForwardingAddressVector::QueryPower(power);
}

}  // namespace drydock::fabric::trace
