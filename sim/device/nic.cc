#include "drydock/sim/device/nic.h"

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/ending.h"
#include "drydock/sim/events/scheduler.h"
#include "drydock/sim/random.h"

namespace drydock::sim {
namespace {

using fabric::OperationKind;

// A NIC's number in all of its network: its draws depend on it.
std::uint64_t EntityOf(const Nic::Identity& identity) {
  return std::uint64_t{identity.machine} << 16 | identity.number;
}

// A link-local address with a drawn interface id.
Gid DrawGid(std::uint64_t seed, std::uint64_t entity) {
  Gid gid{};
  gid[0] = 0xfe;
  gid[1] = 0x80;
  const std::uint64_t word = RandomStream(seed, Subsystem::kNicIdentity, entity, 0).At(0);
  for (std::size_t i = 0; i < 8; ++i) gid[8 + i] = static_cast<std::uint8_t>(word >> (8 * i));
  return gid;
}

}  // namespace

Nic::Nic(Surroundings& around, const Identity& identity, const Profile& profile)
    : around_(around),
      state_(identity.index, identity.machine, identity.name,
             identity.gid != Gid{} ? identity.gid : DrawGid(around.seed, EntityOf(identity)),
             profile, RandomStream(around.seed, Subsystem::kKeys, EntityOf(identity), 0)),
      transmitter_(state_, around,
                   RandomStream(around.seed, Subsystem::kEngine, EntityOf(identity), 0)),
      placement_(state_, around, *this),
      completions_(state_, around),
      requester_(state_, around, transmitter_, placement_, completions_),
      responder_(state_, around, transmitter_, placement_, completions_),
      admin_queue_(state_, around, requester_, responder_,
                   RandomStream(around.seed, Subsystem::kNicIdentity, EntityOf(identity), 1)) {
  state_.actor = this;
}

// ---- Failures of a machine ----

void Nic::Kill() {
  if (!alive()) return;
  state_.port.alive = false;
  around_.observers.Tell<&Observer::OnDied>(state_);
  transmitter_.Die();
  responder_.Die();
}

void Nic::Reset() {
  if (!alive()) return;
  state_.queue_pairs.ForEach([this](QueuePair& queue_pair) {
    queue_pair.state = QueuePairState::kError;
    responder_.FlushReceives(queue_pair);
    requester_.Resume(queue_pair);  // the work that waits in a drained one is flushed as well
  });
  requester_.FlushAll();
  responder_.AbortAll();
}

// ---- Events ----

void Nic::OnEvent(const Event& event) {
  if (!around_.paused_until.empty()) [[unlikely]] {
    const auto paused = around_.paused_until.find(state_.machine());
    const bool waits =
        paused != around_.paused_until.end() && around_.timeline.now() < paused->second;
    if (waits) return around_.timeline.At(paused->second, this, event.kind, event.a, event.b);
  }
  switch (event.kind) {
    case EventKind::kTransmit:
      return Transmit();
    case EventKind::kLand:
      return placement_.Land(event.b);
    case EventKind::kNicDies:
      return Kill();
    case EventKind::kNicResets:
      return Reset();
    default:
      break;
  }
  Operation* operation = around_.operations.Find(OperationId::Unpack(event.b));
  if (operation != nullptr) OnOperationEvent(*operation, event);
}

void Nic::OnOperationEvent(Operation& operation, const Event& event) {
  switch (event.kind) {
    case EventKind::kAnswer:
      return requester_.OnAnswer(operation);
    case EventKind::kSilence:
      return requester_.OnSilence(operation);
    case EventKind::kTimeOut:
      return requester_.OnTimeOut(operation);
    default:
      break;
  }
  if (operation.ended) return;  // the rest of an operation that failed
  if (!alive()) return FallSilent(around_, operation);
  if (event.kind == EventKind::kArrive) return responder_.OnPacket(operation, event.a);
  switch (event.kind) {
    case EventKind::kReadData:
      return requester_.OnReadData(operation, event.a);
    case EventKind::kPlaceRest:
      return placement_.PlaceRest(operation, event.a);
    default:
      return responder_.OnRetry(operation);
  }
}

// Where packets take no time, all that there is to send leaves now.
void Nic::Transmit() {
  transmitter_.Begin();
  do {
    const std::optional<Transmitter::Served> served = transmitter_.SendOne();
    if (served.has_value()) requester_.OnServed(*served);
    requester_.Fetch();
  } while (transmitter_.can_go_on());
  transmitter_.Schedule();
}

void Nic::OnAllPlaced(Operation& operation) {
  if (operation.kind == OperationKind::kRead) {
    CountAtTarget(operation);
    return EndUnanswered(around_, operation, EfaStatus::kOk);
  }
  responder_.OnWritten(operation);
}

void Nic::OnLanded(QueuePair& target, const Landing& landing, Operation* operation) {
  responder_.OnLanded(target, landing, operation);
}

// ---- For a scheduler ----

std::optional<Step> Nic::Describe(const Event& event) const {
  const OperationId id = event.kind == EventKind::kLand ? placement_.OperationOf(event.b)
                                                        : OperationId::Unpack(event.b);
  const Operation* operation = around_.operations.Find(id);
  if (operation == nullptr) return std::nullopt;
  return Describe(*operation, event);
}

Step Nic::Describe(const Operation& operation, const Event& event) const {
  const EventKind kind = event.kind;
  const NicState& initiator = *operation.initiator;
  Step step;
  step.operation = operation.sequence;
  step.kind = kind;
  step.packet = event.a;
  step.request = operation.kind;
  step.calm = operation.undisturbed;
  step.initiator = initiator.index();
  step.queue_pair = operation.queue_pair;
  step.initiator_machine = step.target_machine = initiator.machine();
  if (operation.peer != nullptr) {
    step.target = operation.peer->index();
    step.target_machine = operation.peer->machine();
  }
  const bool of_read = operation.kind == OperationKind::kRead;
  const bool one_range = operation.kind != OperationKind::kSend && operation.segment_count <= 1;
  const bool noticed = kind == EventKind::kAnswer || kind == EventKind::kLand ||
                       kind == EventKind::kRnrRetry || operation.kind == OperationKind::kSend ||
                       operation.has_immediate;
  const Range range = placement_.PayloadOf(operation, event.a,
                                           operation.PacketRange(PacketFlags::NumberOf(event.a)));
  const std::uint64_t local = operation.segments[0].address + range.offset;
  const std::uint64_t remote = operation.remote_address + range.offset;
  // At the machine where it happens.
  if (noticed) {
    step.touches[0] = Touch::All(machine());
  } else if (of_read && kind == EventKind::kArrive) {  // all of it is checked
    step.touches[0] = {machine(), false, operation.remote_address,
                       operation.remote_address + operation.length};
  } else {
    const std::uint64_t begin = of_read ? local : remote;
    step.touches[0] = {machine(), true, begin, begin + range.length};
  }
  // At the other one, whose memory is read.
  if (kind == EventKind::kAnswer || kind == EventKind::kLand) return step;
  if (of_read) {
    if (kind == EventKind::kArrive || operation.peer == nullptr) return step;
    step.touches[1] = {step.target_machine, false, remote, remote + range.length};
  } else if (!operation.is_inline && operation.length > 0) {
    step.touches[1] = {initiator.machine(), false, one_range ? local : 0,
                       one_range ? local + range.length : UINT64_MAX};
  }
  return step;
}

bool Nic::IsPointless(const Event& event) const {
  if (event.kind == EventKind::kLand) return false;  // its bytes are here, even if others ended
  const Operation* operation = around_.operations.Find(OperationId::Unpack(event.b));
  return operation == nullptr || (operation->ended && event.kind != EventKind::kAnswer);
}

}  // namespace drydock::sim
