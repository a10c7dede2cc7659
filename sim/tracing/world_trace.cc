#include "sim/tracing/world_trace.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "fabric/error.h"
#include "fabric/faults/fault.h"
#include "fabric/trace/json_text.h"
#include "sim/efa_address.h"

namespace sim {
namespace {

using fabric::OperationKind;

using fabric::trace::JsonMembers;
using fabric::trace::Kind;
using fabric::trace::PostedWork;
using fabric::trace::TrackKind;

std::uint64_t QueueKey(std::uint32_t nic, std::uint16_t queue_pair) {
  return std::uint64_t{nic} << 16 | queue_pair;
}

std::uint64_t RequestKey(std::uint32_t nic, std::uint16_t queue_pair, std::uint16_t request) {
  return QueueKey(nic, queue_pair) << 16 | request;
}

bool IsReceive(const DeviceCompletion& completion) {
  return completion.kind == OperationKind::kReceive ||
         completion.kind == OperationKind::kRemoteWrite;
}

}  // namespace

WorldTrace::WorldTrace(World& world, fabric::trace::Recorder& recorder,
                       fabric::faults::FaultEngine* engine)
    : world_(world),
      recorder_(recorder),
      engine_(engine),
      next_(world.log().listener()),
      next_device_(world.device_listener()),
      next_firing_(engine == nullptr ? nullptr : engine->listener()) {
  recorder_.UseClock(&world_.backstage(), world_.live() ? world_.backstage().Now() : World::kStart);
  began_ns_ = recorder_.Now();
  world_.set_device_listener(this);
  if (world_.live()) return;
  world_.log().set_listener(this);
  if (engine_ != nullptr) engine_->set_listener(this);
}

WorldTrace::~WorldTrace() {
  RecordFindings();
  recorder_.UseClock(nullptr, {});
  world_.set_device_listener(next_device_);
  if (world_.live()) return;
  world_.log().set_listener(next_);
  if (engine_ != nullptr) engine_->set_listener(next_firing_);
}

// ---- Who it is ----

WorldTrace::Machine& WorldTrace::MachineOf(std::uint32_t nic) {
  if (machines_.size() <= nic) machines_.resize(nic + 1u);
  std::optional<Machine>& machine = machines_[nic];
  if (machine.has_value()) return *machine;
  const std::string& name = world_.nic(nic).name();
  const std::size_t slash = name.find('/');
  machine.emplace();
  machine->node = recorder_.Node(std::string_view(name).substr(0, slash));
  machine->nic = slash == std::string::npos ? name : name.substr(slash + 1);
  machine->wire = recorder_.TrackOf({machine->node, TrackKind::kWire, 0, machine->nic});
  machine->memory = recorder_.TrackOf({machine->node, TrackKind::kMemory, 0, machine->nic});
  machine->marks = recorder_.TrackOf({machine->node, TrackKind::kMarks, 0, ""});
  return *machine;
}

WorldTrace::Machine* WorldTrace::FindMachine(std::string_view name) {
  for (std::uint32_t i = 0; i < world_.nic_count(); ++i) {
    const std::string_view full = world_.nic(i).name();
    const std::size_t slash = full.find('/');
    const bool its =
        full == name || full.substr(slash + 1) == name || full.substr(0, slash) == name;
    if (its) return &MachineOf(i);
  }
  return nullptr;
}

std::uint32_t WorldTrace::MarksOf(std::string_view name) {
  if (const Machine* machine = FindMachine(name)) return machine->marks;
  const bool empty = world_.nic_count() == 0;
  const std::uint16_t node = empty ? recorder_.Node("world") : MachineOf(0).node;
  return recorder_.TrackOf({node, TrackKind::kMarks, 0, ""});
}

PostedWork* WorldTrace::WorkOf(const Nic& nic, std::uint16_t queue_pair, std::uint32_t qkey) {
  Queue& queue = queues_[QueueKey(nic.index(), queue_pair)];
  if (queue.work == nullptr || queue.qkey != qkey) {
    queue.qkey = qkey;
    queue.work = recorder_.WorkOf(EfaAddress{nic.gid(), queue_pair, qkey}.Encode());
  }
  return queue.work.get();
}

WorldTrace::Known& WorldTrace::KnownOf(OperationId id) {
  if (operations_.size() <= id.slot) operations_.resize(id.slot + 1u);
  auto& [generation, known] = operations_[id.slot];
  if (generation != id.generation) known = {};
  generation = id.generation;
  return known;
}

// ---- Requests ----

void WorldTrace::OnLogged(const LoggedEvent& event) {
  if (event.kind == EventKind::kFetch) {
    const Operation* operation = world_.operations().Find(OperationId::Unpack(event.operation));
    if (operation != nullptr) Take(*operation);
  }
  if (event.kind == EventKind::kSend) Sent(event);
  if (world_.findings().size() != findings_) RecordFindings();
  if (next_ != nullptr) next_->OnLogged(event);
}

void WorldTrace::Take(const Operation& operation) {
  if (operation.initiator == nullptr) return;  // it was malformed
  const Nic& nic = *operation.initiator;
  PostedWork* work = WorkOf(nic, operation.queue_pair, operation.qkey);
  Known& known = KnownOf(operation.id);
  known = {};
  known.node = MachineOf(nic.index()).node;
  known.kind = operation.kind;
  if (work != nullptr) {
    const bool message = operation.kind == OperationKind::kSend;
    known.op =
        work->Take({.kind = operation.kind,
                    .bytes = operation.length + (operation.datagram ? kDatagramPrefixBytes : 0),
                    .remote_address = message ? 0 : operation.remote_address});
  }
  // Posted by a device, or by a protocol in between.
  if (known.op == 0) known.op = recorder_.NewOperations(known.node);
  requests_[RequestKey(nic.index(), operation.queue_pair, operation.request_id)] = known;
}

void WorldTrace::OnFetched(const Operation& operation) {
  Take(operation);
  if (next_device_ != nullptr) next_device_->OnFetched(operation);
}

// Of queues that somebody else than the program writes; posts tell of their own.
void WorldTrace::OnDoorbell(const Nic& nic, const QueuePair& queue_pair, std::uint32_t waiting) {
  const PostedWork* work = WorkOf(nic, queue_pair.number, queue_pair.qkey);
  if (work != nullptr && work->empty()) {
    fabric::trace::Event doorbell;
    doorbell.time_ns = recorder_.Now();
    doorbell.bytes = waiting;
    doorbell.track = work->endpoint.track;
    doorbell.object = work->endpoint.object;
    doorbell.kind = Kind::kDoorbell;
    recorder_.Record(doorbell);
  }
  if (next_device_ != nullptr) next_device_->OnDoorbell(nic, queue_pair, waiting);
}

void WorldTrace::Sent(const LoggedEvent& event) {
  const OperationId id = OperationId::Unpack(event.operation);
  const Operation* operation = world_.operations().Find(id);
  if (operation == nullptr) return;
  const Known& known = KnownOf(id);
  const Nic& sender = world_.nic(event.actor);
  const Nic* receiver = &sender == operation->initiator ? operation->peer : operation->initiator;
  const Profile& profile = sender.profile();
  fabric::trace::Event packet;
  packet.time_ns = recorder_.Now();
  packet.duration_ns = static_cast<std::int64_t>(
      static_cast<double>(event.bytes + profile.header_bytes) * 8 / profile.link_gbps);
  packet.op = known.op;
  packet.op_node = known.node;
  packet.bytes = event.bytes;
  packet.track = MachineOf(event.actor).wire;
  packet.node = MachineOf(receiver == nullptr ? event.actor : receiver->index()).node;
  packet.immediate = event.packet;
  packet.kind = Kind::kPacket;
  packet.operation = known.kind;
  if ((event.branch & 1) != 0) packet.flags |= fabric::trace::kArrives;
  if ((event.branch & 2) != 0) packet.flags |= fabric::trace::kRetransmitted;
  if ((event.branch & 4) != 0) packet.flags |= fabric::trace::kTwice;
  recorder_.Record(packet);
}

void WorldTrace::OnPlaced(const Nic& nic, OperationId operation, const Segment& piece) {
  const Machine& machine = MachineOf(nic.index());
  const Known& known = KnownOf(operation);
  fabric::trace::Event place;
  place.time_ns = recorder_.Now();
  place.op = known.op;
  place.op_node = known.node;
  place.bytes = piece.length;
  place.address = piece.address;
  place.track = machine.memory;
  place.kind = Kind::kPlace;
  place.operation = known.kind;
  recorder_.Locate(machine.node, piece.lkey, place);
  recorder_.Record(place);
  if (next_device_ != nullptr) next_device_->OnPlaced(nic, operation, piece);
}

// ---- Completions ----

void WorldTrace::OnReceiveTaken(const Nic& nic, const QueuePair& queue_pair,
                                const ReceiveWork& receive) {
  PostedWork* work = WorkOf(nic, queue_pair.number, queue_pair.qkey);
  Known known;
  known.node = MachineOf(nic.index()).node;
  known.kind = OperationKind::kReceive;
  if (work != nullptr) {
    known.op = work->TakeReceive();
    if (known.op == 0) known.op = recorder_.NewOperations(known.node);  // posted by a device
  }
  receives_[RequestKey(nic.index(), queue_pair.number, receive.request_id)] = known;
  if (next_device_ != nullptr) next_device_->OnReceiveTaken(nic, queue_pair, receive);
}

void WorldTrace::OnImmediate(const Operation& operation) {
  announced_ = KnownOf(operation.id);
  if (next_device_ != nullptr) next_device_->OnImmediate(operation);
}

WorldTrace::Known WorldTrace::Completed(const Nic& nic, const DeviceCompletion& completion) {
  const bool immediate = completion.kind == OperationKind::kRemoteWrite;
  if (immediate && completion.unsolicited) return announced_;
  auto& waiting = IsReceive(completion) ? receives_ : requests_;
  const auto found =
      waiting.find(RequestKey(nic.index(), completion.queue_pair, completion.request_id));
  if (found == waiting.end()) return {};
  const Known known = found->second;
  waiting.erase(found);
  return known;
}

void WorldTrace::OnReported(const Nic& nic, const CompletionRing& ring,
                            const DeviceCompletion& completion, bool kept) {
  const Machine& machine = MachineOf(nic.index());
  const Known known = Completed(nic, completion);
  const auto found = queues_.find(QueueKey(nic.index(), completion.queue_pair));
  const PostedWork* work = found == queues_.end() ? nullptr : found->second.work.get();
  fabric::trace::Event event;
  event.time_ns = recorder_.Now();
  event.op = known.op;
  event.op_node = known.node;
  event.bytes = completion.length_bytes;
  if (work != nullptr) {
    const PostedWork::Queue& queue = IsReceive(completion) ? work->receive_queue : work->send_queue;
    event.track = queue.track;
    event.object = queue.object;
  } else {
    event.track =
        recorder_.TrackOf({machine.node, TrackKind::kDeviceQueue, ring.number(), machine.nic});
  }
  event.immediate = completion.immediate;
  event.provider_error = completion.status;
  event.kind = Kind::kCompletion;
  event.operation = completion.kind;
  event.error = kept ? fabric::FromEfaStatus(completion.status) : fabric::ErrorCode::kOverrun;
  if (completion.has_immediate) event.flags |= fabric::trace::kHasImmediate;
  recorder_.Record(event);
  if (next_device_ != nullptr) next_device_->OnReported(nic, ring, completion, kept);
}

// ---- Marks ----

void WorldTrace::OnFired(const fabric::faults::FiringId& id, const fabric::faults::EventView& view,
                         const fabric::faults::Firing& firing) {
  std::string what(fabric::faults::Describe(firing.fault()).name);
  if (view.operation.has_value()) {
    absl::StrAppend(&what, ", ", std::string(fabric::Name(*view.operation)));
  }
  if (view.size_bytes.has_value()) absl::StrAppend(&what, " of ", *view.size_bytes, " B");
  JsonMembers members;
  members.Text("rule", firing.rule->name).Text("what", what).Unsigned("number", id.number);
  if (!view.nic.empty()) members.Text("nic", view.nic);
  fabric::trace::Event fault;
  fault.time_ns = recorder_.Now();
  fault.track = MarksOf(view.nic);
  fault.text = recorder_.Text(members.str());
  fault.kind = Kind::kFault;
  recorder_.Record(fault);
  if (next_firing_ != nullptr) next_firing_->OnFired(id, view, firing);
}

void WorldTrace::RecordFindings() {
  if (findings_ > world_.findings().size()) findings_ = 0;  // somebody has taken them
  for (; findings_ < world_.findings().size(); ++findings_) {
    const Finding& finding = world_.findings()[findings_];
    JsonMembers members;
    members.Text("check", Name(finding.check)).Text("text", ToText(finding));
    fabric::trace::Event check;
    check.time_ns = began_ns_ + finding.first.count();
    check.track = MarksOf(finding.where);
    check.text = recorder_.Text(members.str());
    check.kind = Kind::kCheck;
    recorder_.Record(check);
  }
}

}  // namespace sim
