#include "drydock/sim/tracing/world_trace.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/faults/fault.h"
#include "drydock/fabric/trace/json_text.h"
#include "drydock/sim/efa_address.h"

namespace drydock::sim {
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
      next_firing_(engine == nullptr ? nullptr : engine->listener()) {
  const coro::Clock& clock = world_.timeline().backstage();
  recorder_.UseClock(&clock, world_.IsVirtual() ? Timeline::kStart : clock.Now());
  began_ns_ = recorder_.Now();
  world_.observers().Add(*this);
  if (engine_ != nullptr) engine_->set_listener(this);
}

WorldTrace::~WorldTrace() {
  RecordFindings();
  recorder_.UseClock(nullptr, {});
  world_.observers().Remove(*this);
  if (engine_ != nullptr) engine_->set_listener(next_firing_);
}

// ---- Who it is ----

WorldTrace::Machine& WorldTrace::MachineOf(const NicState& nic) {
  if (machines_.size() <= nic.index()) machines_.resize(nic.index() + 1u);
  std::optional<Machine>& machine = machines_[nic.index()];
  if (machine.has_value()) return *machine;
  const std::string& name = nic.name;
  const std::size_t slash = name.find('/');
  machine.emplace();
  machine->node = recorder_.Node(std::string_view(name).substr(0, slash));
  machine->nic = slash == std::string::npos ? name : name.substr(slash + 1);
  machine->number = recorder_.NicOf(machine->node, machine->nic);
  machine->wire = recorder_.TrackOf({machine->node, TrackKind::kWire, 0, machine->nic});
  machine->memory = recorder_.TrackOf({machine->node, TrackKind::kMemory, 0, machine->nic});
  machine->marks = recorder_.TrackOf({machine->node, TrackKind::kMarks, 0, ""});
  return *machine;
}

WorldTrace::Machine* WorldTrace::FindMachine(std::string_view name) {
  for (std::uint32_t i = 0; i < world_.nics().size(); ++i) {
    const std::string_view full = world_.nics()[i].name;
    const std::size_t slash = full.find('/');
    const bool its =
        full == name || full.substr(slash + 1) == name || full.substr(0, slash) == name;
    if (its) return &MachineOf(world_.nics()[i]);
  }
  return nullptr;
}

std::uint32_t WorldTrace::MarksOf(std::string_view name) {
  if (const Machine* machine = FindMachine(name)) return machine->marks;
  const bool empty = world_.nics().size() == 0;
  const std::uint16_t node = empty ? recorder_.Node("world") : MachineOf(world_.nics()[0]).node;
  return recorder_.TrackOf({node, TrackKind::kMarks, 0, ""});
}

PostedWork* WorldTrace::WorkOf(const NicState& nic, std::uint16_t queue_pair, std::uint32_t qkey) {
  Queue& queue = queues_[QueueKey(nic.index(), queue_pair)];
  if (queue.work == nullptr || queue.qkey != qkey) {
    queue.qkey = qkey;
    queue.work = recorder_.WorkOf(EfaAddress{nic.gid, queue_pair, qkey}.Encode());
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

WorldTrace::ImmediateKey WorldTrace::KeyOf(const NicState& nic,
                                           const DeviceCompletion& completion) {
  return {nic.index(), completion.queue_pair, completion.address_handle,
          completion.source_queue_pair, completion.immediate};
}

// ---- Requests ----

void WorldTrace::OnFetched(const NicState& nic, const QueuePair& /*queue_pair*/,
                           const Operation& operation, EfaStatus /*status*/) {
  RecordFindings();
  if (operation.initiator == nullptr) return;  // it was malformed
  PostedWork* work = WorkOf(nic, operation.queue_pair, operation.qkey);
  Known& known = KnownOf(operation.id);
  known = {};
  known.node = MachineOf(nic).node;
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

// Of queues that are written past the program's posts, by a device or a protocol; posts record
// their own doorbells.
void WorldTrace::OnDoorbell(const NicState& nic, const QueuePair& queue_pair) {
  const PostedWork* work = WorkOf(nic, queue_pair.number, queue_pair.qkey);
  if (work != nullptr && work->empty()) {
    fabric::trace::Event doorbell;
    doorbell.time_ns = recorder_.Now();
    doorbell.bytes = queue_pair.send.unfetched();
    doorbell.track = work->endpoint.track;
    doorbell.object = work->endpoint.object;
    doorbell.kind = Kind::kDoorbell;
    recorder_.Record(doorbell);
  }
}

void WorldTrace::OnSent(const NicState& nic, const Operation& operation, std::uint32_t number,
                        bool response, std::uint64_t bytes, const Flight& flight) {
  RecordFindings();
  const Known& known = KnownOf(operation.id);
  const NicState* receiver = response ? operation.initiator : operation.peer;
  const Profile& profile = nic.profile;
  fabric::trace::Event packet;
  packet.time_ns = recorder_.Now();
  packet.duration_ns = static_cast<std::int64_t>(static_cast<double>(bytes + profile.header_bytes) *
                                                 8 / profile.link_gbps);
  packet.op = known.op;
  packet.op_node = known.node;
  packet.bytes = bytes;
  packet.track = MachineOf(nic).wire;
  packet.node = MachineOf(receiver == nullptr ? nic : *receiver).node;
  packet.immediate = number;
  packet.kind = Kind::kPacket;
  packet.operation = known.kind;
  if (flight.arrives) packet.flags |= fabric::trace::kArrives;
  if (flight.retransmissions > 0) packet.flags |= fabric::trace::kRetransmitted;
  if (flight.twice) packet.flags |= fabric::trace::kTwice;
  recorder_.Record(packet);
}

void WorldTrace::OnPlaced(const BytesPlaced& bytes) {
  RecordFindings();
  const Machine& machine = MachineOf(bytes.nic);
  const Known& known = KnownOf(bytes.id);
  WalkSegments(bytes.memory, bytes.in_memory, [&](const Segment& piece) {
    fabric::trace::Event place;
    place.time_ns = recorder_.Now();
    place.op = known.op;
    place.op_node = known.node;
    place.bytes = piece.length;
    place.address = piece.address;
    place.track = machine.memory;
    place.kind = Kind::kPlace;
    place.operation = known.kind;
    recorder_.Locate(machine.number, piece.lkey, place);
    recorder_.Record(place);
  });
}

// ---- Completions ----

void WorldTrace::OnReceiveTaken(const NicState& nic, const QueuePair& queue_pair,
                                const ReceiveWork& receive) {
  PostedWork* work = WorkOf(nic, queue_pair.number, queue_pair.qkey);
  Known known;
  known.node = MachineOf(nic).node;
  known.kind = OperationKind::kReceive;
  if (work != nullptr) {
    known.op = work->TakeReceive();
    if (known.op == 0) known.op = recorder_.NewOperations(known.node);  // posted by a device
  }
  receives_[RequestKey(nic.index(), queue_pair.number, receive.request_id)] = known;
}

void WorldTrace::OnImmediateDelivered(const NicState& /*nic*/, const QueuePair& /*target*/,
                                      const Operation& operation) {
  announced_ = KnownOf(operation.id);
  just_announced_ = true;
}

WorldTrace::Known WorldTrace::Completed(const NicState& nic, const DeviceCompletion& completion,
                                        bool announced) {
  if (completion.unsolicited) {
    const auto [kept, end] = withheld_.equal_range(KeyOf(nic, completion));
    if (announced || kept == end) return announced_;
    const Known known = kept->second;
    withheld_.erase(kept);
    return known;
  }
  auto& waiting = IsReceive(completion) ? receives_ : requests_;
  const auto found =
      waiting.find(RequestKey(nic.index(), completion.queue_pair, completion.request_id));
  if (found == waiting.end()) return {};
  const Known known = found->second;
  waiting.erase(found);
  return known;
}

void WorldTrace::OnReported(const NicState& nic, const CompletionRing& ring,
                            const DeviceCompletion& completion, EntryFate fate) {
  const bool announced = std::exchange(just_announced_, false);
  if (fate == EntryFate::kWithheld) {
    if (completion.unsolicited) withheld_.emplace(KeyOf(nic, completion), announced_);
    return;
  }
  RecordFindings();
  const Machine& machine = MachineOf(nic);
  const Known known = Completed(nic, completion, announced);
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
  event.error = fate == EntryFate::kNoRoom ? fabric::ErrorCode::kOverrun
                                           : fabric::FromEfaStatus(completion.status);
  if (completion.has_immediate) event.flags |= fabric::trace::kHasImmediate;
  recorder_.Record(event);
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
  if (findings_ > world_.findings().size()) findings_ = 0;  // they have been taken
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

}  // namespace drydock::sim
