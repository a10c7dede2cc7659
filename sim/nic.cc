#include "sim/nic.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "coro/check.h"
#include "sim/world.h"

namespace sim {
namespace {

using fabric::Access;
using fabric::OperationKind;

// Purposes of the random streams of one operation.
enum WirePurpose : std::uint64_t { kRequestDelay, kResponseDelay, kAnswerDelay };

// What a request that carries no data occupies on the link, beside the header.
constexpr std::uint64_t kNoPayload = 0;

// From the doorbell to a completion that the peer had no part in.
constexpr coro::Duration kLocalAnswerDelay{500};

Access LocalRight(OperationKind kind) {
  switch (kind) {
    case OperationKind::kSend:
      return Access::kSend;
    case OperationKind::kWrite:
      return Access::kWrite;
    case OperationKind::kRead:
      return Access::kRead;
    default:
      return Access::kReceive;
  }
}

std::uint64_t AddressOf(const std::byte* data) { return reinterpret_cast<std::uint64_t>(data); }
std::byte* PointerTo(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

void CopyBytes(std::byte* target, const std::byte* source, std::uint64_t length) {
  if (length > 0) std::memcpy(target, source, length);
}

}  // namespace

Nic::Nic(World& world, std::uint64_t identity, const Profile& profile)
    : world_(world),
      profile_(profile),
      qkeys_(world.seed(), Subsystem::kNicIdentity, identity, 1),
      engine_(world.seed(), Subsystem::kEngine, identity, 0),
      memory_(profile.limits.max_memory_regions) {
  gid_[0] = 0xfe;
  gid_[1] = 0x80;
  const std::uint64_t word = RandomStream(world.seed(), Subsystem::kNicIdentity, identity, 0).At(0);
  for (std::size_t i = 0; i < 8; ++i) gid_[8 + i] = static_cast<std::uint8_t>(word >> (8 * i));
}

void Nic::Kill() {
  alive_ = false;
  const auto silence = [this](OperationId id) {
    if (Operation* operation = world_.operations().Find(id)) {
      operation->initiator->StartTimeout(*operation);
    }
  };
  for (const Job& job : jobs_) {
    if (job.response) silence(job.operation);
  }
  for (const auto& queue_pair : queue_pairs_) {
    if (queue_pair == nullptr) continue;
    for (const OperationId id : queue_pair->waiting) silence(id);
  }
}

// ---- Control path ----

QueuePair* Nic::CreateQueuePair(ProtectionDomain domain, std::shared_ptr<CompletionRing> send_ring,
                                std::shared_ptr<CompletionRing> receive_ring) {
  auto slot = std::find(queue_pairs_.begin(), queue_pairs_.end(), nullptr);
  if (slot == queue_pairs_.end()) {
    if (queue_pairs_.size() >= profile_.limits.max_endpoints) return nullptr;
    slot = queue_pairs_.insert(slot, nullptr);
  }
  *slot = std::make_unique<QueuePair>();
  QueuePair& queue_pair = **slot;
  queue_pair.number = static_cast<std::uint16_t>(slot - queue_pairs_.begin());
  queue_pair.qkey =
      static_cast<std::uint32_t>(qkeys_.Next()) & 0x7fffffffu;  // the top bit is privileged
  queue_pair.domain = domain;
  queue_pair.send_ring = std::move(send_ring);
  queue_pair.receive_ring = std::move(receive_ring);
  return &queue_pair;
}

void Nic::DestroyQueuePair(QueuePair& queue_pair) {
  world_.operations().EndIf([&](const Operation& operation) {
    return operation.initiator == this && operation.queue_pair == queue_pair.number &&
           operation.qkey == queue_pair.qkey;
  });
  // Whoever waits for a receive here finds out at its next attempt.
  for (const OperationId id : queue_pair.waiting) {
    world_.Schedule(world_.Now() + profile_.rnr_delay, this, kRnrRetry, 0, id.Pack());
  }
  queue_pair.send_ring->Drop(queue_pair.number);
  queue_pair.receive_ring->Drop(queue_pair.number);
  queue_pairs_[queue_pair.number] = nullptr;
}

void Nic::CreateAddressHandle(ProtectionDomain domain, const Gid& peer) {
  ++address_handles_[{domain, peer}];
}

void Nic::DestroyAddressHandle(ProtectionDomain domain, const Gid& peer) {
  const auto found = address_handles_.find({domain, peer});
  DD_CHECK(found != address_handles_.end(), "destroying an address handle twice");
  if (--found->second == 0) address_handles_.erase(found);
}

// ---- Initiator: from the doorbell to the link ----

void Nic::Send(const QueuePair& queue_pair, std::span<const SendWork> work) {
  for (const SendWork& item : work) {
    Operation& operation = StartOperation(queue_pair, item);
    const EfaStatus status = CheckLocally(operation);
    if (status != EfaStatus::kOk) {
      FinishLocally(operation, status);
    } else {
      Enqueue({operation.id, false});
    }
  }
}

Operation& Nic::StartOperation(const QueuePair& queue_pair, const SendWork& work) {
  Operation& operation = world_.operations().Start();
  operation.initiator = this;
  operation.domain = queue_pair.domain;
  operation.queue_pair = queue_pair.number;
  operation.qkey = queue_pair.qkey;
  operation.request_id = work.request_id;
  operation.kind = work.kind;
  operation.local = work.local;
  operation.remote = work.remote;
  operation.destination = work.destination;
  operation.immediate = work.immediate;
  const std::uint64_t length = work.local.length_bytes;
  const std::uint64_t mtu = profile_.limits.mtu_bytes;
  operation.packets =
      work.kind == OperationKind::kSend
          ? 1
          : static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (length + mtu - 1) / mtu));
  operation.is_inline = work.kind == OperationKind::kSend && length <= kInlineBytes;
  if (operation.is_inline) CopyBytes(operation.inline_data.data(), work.local.data, length);
  return operation;
}

EfaStatus Nic::CheckLocally(const Operation& operation) const {
  const std::uint64_t most = operation.kind == OperationKind::kSend
                                 ? profile_.limits.max_message_bytes
                                 : profile_.limits.max_rma_bytes;
  if (operation.local.length_bytes > most) return EfaStatus::kLocalBadLength;
  const Range all{0, operation.local.length_bytes};
  return SourceIsValid(operation, all) ? EfaStatus::kOk : EfaStatus::kLocalInvalidLkey;
}

bool Nic::SourceIsValid(const Operation& operation, Range range) const {
  if (operation.is_inline || operation.local.length_bytes == 0) return true;
  return memory_.AllowsLocal(
      operation.domain, static_cast<std::uint32_t>(operation.local.local_key),
      AddressOf(operation.local.data) + range.offset, range.length, LocalRight(operation.kind));
}

void Nic::Enqueue(Job job) {
  jobs_.push_back(job);
  ScheduleTransmit();
}

void Nic::ScheduleTransmit() {
  if (transmit_scheduled_ || jobs_.empty() || !alive_) return;
  transmit_scheduled_ = true;
  const coro::Time link_free{
      coro::Duration(static_cast<std::int64_t>((link_free_ps_ + 999) / 1000))};
  world_.Schedule(std::max(world_.Now(), link_free), this, kTransmit, 0, 0);
}

void Nic::Transmit() {
  transmit_scheduled_ = false;
  while (!jobs_.empty() && alive_) {
    const std::uint64_t window = std::min<std::uint64_t>(jobs_.size(), profile_.engine_window);
    const auto job = jobs_.begin() + static_cast<std::ptrdiff_t>(engine_.NextBelow(window));
    Operation* operation = world_.operations().Find(job->operation);
    const bool gone = operation == nullptr || operation->ended;
    const bool response = job->response;
    if (gone || TransmitOne(*operation, response)) jobs_.erase(job);
    if (!gone) break;
  }
  ScheduleTransmit();
}

bool Nic::TransmitOne(Operation& operation, bool response) {
  if (operation.kind == OperationKind::kRead && !response) {  // a read's request carries no data
    SendPacket(operation, 0, false, kNoPayload);
    return true;
  }
  const std::uint32_t packet = operation.next_packet++;
  SendPacket(operation, packet, response, RangeOf(operation, packet).length);
  return operation.next_packet == operation.packets;
}

void Nic::SendPacket(Operation& operation, std::uint32_t packet, bool response,
                     std::uint64_t bytes) {
  const coro::Time sent = OccupyLink(bytes);
  Nic* destination = response ? operation.initiator : world_.FindNic(operation.destination.gid);
  if (destination == nullptr || !destination->alive()) {
    operation.initiator->StartTimeout(operation);
    return;
  }
  const RandomStream stream(world_.seed(), Subsystem::kWire, operation.sequence,
                            response ? kResponseDelay : kRequestDelay);
  world_.Schedule(sent + profile_.one_way.Draw(stream, packet), destination,
                  response ? kReadData : kArrive, packet, operation.id.Pack());
}

// The time at which the last bit has left.
coro::Time Nic::OccupyLink(std::uint64_t bytes) {
  const auto now_ps = static_cast<std::uint64_t>(world_.Now().time_since_epoch().count()) * 1000;
  const auto ps_per_byte = static_cast<std::uint64_t>(8000.0 / profile_.link_gbps);
  link_free_ps_ = std::max(link_free_ps_, now_ps) + (bytes + profile_.header_bytes) * ps_per_byte;
  return coro::Time(coro::Duration(static_cast<std::int64_t>(link_free_ps_ / 1000)));
}

Nic::Range Nic::RangeOf(const Operation& operation, std::uint32_t packet) const {
  if (operation.kind == OperationKind::kSend) return {0, operation.local.length_bytes};
  const std::uint64_t offset = std::uint64_t{packet} * profile_.limits.mtu_bytes;
  return {offset, std::min<std::uint64_t>(profile_.limits.mtu_bytes,
                                          operation.local.length_bytes - offset)};
}

// ---- Target: what a packet does when it is here ----

void Nic::OnEvent(const Event& event) {
  if (event.kind == kTransmit) return Transmit();
  Operation* operation = world_.operations().Find(OperationId::Unpack(event.b));
  if (operation == nullptr) return;
  if (event.kind == kAnswer) return Answer(*operation);
  if (event.kind == kTimeOut) return TimeOut(*operation);
  if (operation->ended) return;  // the rest of an operation that failed
  if (!alive_) return operation->initiator->StartTimeout(*operation);
  if (event.kind == kReadData) return ArriveReadData(*operation, event.a);
  Arrive(*operation, event.a);
}

void Nic::Arrive(Operation& operation, std::uint32_t packet) {
  if (packet == 0) heard_from_.insert(operation.initiator->gid());
  QueuePair* target = FindQueuePair(operation.destination.queue_pair, operation.destination.qkey);
  if (target == nullptr) return Finish(operation, EfaStatus::kRemoteBadQueuePair);
  if (operation.kind == OperationKind::kSend) return ArriveSend(operation, *target);
  if (address_handles_.count({target->domain, operation.initiator->gid()}) == 0) {
    return Finish(operation, EfaStatus::kRemoteUnknownPeer);
  }
  if (operation.kind == OperationKind::kWrite) return ArriveWrite(operation, *target, packet);
  if (!MayAccessRemotely(operation, *target, {0, operation.local.length_bytes})) {
    return Finish(operation, EfaStatus::kRemoteBadAddress);
  }
  Enqueue({operation.id, true});
}

void Nic::ArriveSend(Operation& operation, QueuePair& target) {
  if (target.receives.empty()) return NoReceive(operation, target);
  const ReceiveWork receive = target.receives.front();
  const std::uint64_t length = operation.local.length_bytes;
  if (length > receive.buffer.length_bytes) return Finish(operation, EfaStatus::kRemoteBadLength);
  if (!operation.initiator->SourceIsValid(operation, {0, length})) {
    return Finish(operation, EfaStatus::kLocalInvalidLkey);
  }
  target.receives.pop_front();
  DeviceCompletion completion{.request_id = receive.request_id,
                              .queue_pair = target.number,
                              .kind = OperationKind::kReceive,
                              .has_immediate = operation.immediate.has_value(),
                              .immediate = operation.immediate.value_or(0),
                              .length_bytes = length};
  const bool writable = memory_.AllowsLocal(
      target.domain, static_cast<std::uint32_t>(receive.buffer.local_key),
      AddressOf(receive.buffer.data), receive.buffer.length_bytes, Access::kReceive);
  if (writable) {
    CopyBytes(receive.buffer.data,
              operation.is_inline ? operation.inline_data.data() : operation.local.data, length);
  } else {
    completion.status = static_cast<std::uint8_t>(EfaStatus::kLocalInvalidLkey);
    completion.length_bytes = 0;
  }
  Report(*target.receive_ring, completion);
  Finish(operation, writable ? EfaStatus::kOk : EfaStatus::kRemoteBadAddress);
}

void Nic::NoReceive(Operation& operation, QueuePair& target) {
  constexpr std::uint32_t kForEver = 7;
  if (profile_.rnr_retries == kForEver) {
    target.waiting.push_back(operation.id);  // as good as retrying, and an idle world stays idle
  } else if (operation.rnr_attempts++ < profile_.rnr_retries) {
    world_.Schedule(world_.Now() + profile_.rnr_delay, this, kRnrRetry, 0, operation.id.Pack());
  } else {
    Finish(operation, EfaStatus::kRemoteNotReady);
  }
}

void Nic::Receive(QueuePair& queue_pair, std::span<const ReceiveWork> work) {
  queue_pair.receives.insert(queue_pair.receives.end(), work.begin(), work.end());
  const std::size_t served = std::min(queue_pair.waiting.size(), work.size());
  for (std::size_t i = 0; i < served; ++i) {
    const OperationId id = queue_pair.waiting.front();
    queue_pair.waiting.pop_front();
    world_.Schedule(world_.Now() + profile_.rnr_delay, this, kRnrRetry, 0, id.Pack());
  }
}

void Nic::ArriveWrite(Operation& operation, QueuePair& target, std::uint32_t packet) {
  const Range range = RangeOf(operation, packet);
  if (!MayAccessRemotely(operation, target, range)) {
    return Finish(operation, EfaStatus::kRemoteBadAddress);
  }
  if (!operation.initiator->SourceIsValid(operation, range)) {
    return Finish(operation, EfaStatus::kLocalInvalidLkey);
  }
  CopyBytes(PointerTo(operation.remote.address + range.offset), operation.local.data + range.offset,
            range.length);
  if (++operation.placed < operation.packets) return;
  if (operation.immediate.has_value()) {
    Report(*target.receive_ring, {.queue_pair = target.number,
                                  .kind = OperationKind::kRemoteWrite,
                                  .has_immediate = true,
                                  .unsolicited = true,
                                  .immediate = *operation.immediate,
                                  .length_bytes = operation.local.length_bytes});
  }
  Finish(operation, EfaStatus::kOk);
}

bool Nic::MayAccessRemotely(const Operation& operation, const QueuePair& target,
                            Range range) const {
  const Access wanted =
      operation.kind == OperationKind::kRead ? Access::kRemoteRead : Access::kRemoteWrite;
  if (operation.remote.key > UINT32_MAX) return false;
  return memory_.AllowsRemote(target.domain, static_cast<std::uint32_t>(operation.remote.key),
                              operation.remote.address + range.offset, range.length, wanted);
}

// ---- Initiator: how an operation ends ----

void Nic::ArriveReadData(Operation& operation, std::uint32_t packet) {
  const Range range = RangeOf(operation, packet);
  if (!SourceIsValid(operation, range))
    return FinishLocally(operation, EfaStatus::kLocalInvalidLkey);
  // The bytes are those that the target has now; it may have closed the region, or itself, since it
  // sent them.
  Nic* target_nic = world_.FindNic(operation.destination.gid);
  QueuePair* target =
      target_nic->FindQueuePair(operation.destination.queue_pair, operation.destination.qkey);
  if (target == nullptr) return FinishLocally(operation, EfaStatus::kRemoteBadQueuePair);
  if (!target_nic->MayAccessRemotely(operation, *target, range)) {
    return FinishLocally(operation, EfaStatus::kRemoteBadAddress);
  }
  CopyBytes(operation.local.data + range.offset, PointerTo(operation.remote.address + range.offset),
            range.length);
  if (++operation.placed == operation.packets) FinishLocally(operation, EfaStatus::kOk);
}

void Nic::Finish(Operation& operation, EfaStatus status) {
  operation.ended = true;
  operation.status = static_cast<std::uint8_t>(status);
  const RandomStream stream(world_.seed(), Subsystem::kWire, operation.sequence, kAnswerDelay);
  world_.Schedule(world_.Now() + profile_.one_way.Draw(stream, 0), operation.initiator, kAnswer, 0,
                  operation.id.Pack());
}

void Nic::FinishLocally(Operation& operation, EfaStatus status) {
  operation.ended = true;
  operation.status = static_cast<std::uint8_t>(status);
  world_.Schedule(world_.Now() + kLocalAnswerDelay, operation.initiator, kAnswer, 0,
                  operation.id.Pack());
}

void Nic::Answer(Operation& operation) {
  const auto status = static_cast<EfaStatus>(operation.status);
  const bool heard =
      status != EfaStatus::kLocalInvalidLkey && status != EfaStatus::kLocalBadLength &&
      status != EfaStatus::kLocalUnresponsivePeer && status != EfaStatus::kLocalUnreachablePeer;
  if (heard) heard_from_.insert(operation.destination.gid);
  QueuePair* queue_pair = FindQueuePair(operation.queue_pair, operation.qkey);
  if (queue_pair != nullptr && alive_) {
    Report(*queue_pair->send_ring, {.request_id = operation.request_id,
                                    .queue_pair = operation.queue_pair,
                                    .status = operation.status,
                                    .kind = operation.kind});
  }
  world_.operations().End(operation);
}

void Nic::StartTimeout(Operation& operation) {
  if (operation.timing_out) return;
  operation.timing_out = true;
  world_.Schedule(world_.Now() + profile_.unresponsive_timeout, this, kTimeOut, 0,
                  operation.id.Pack());
}

void Nic::TimeOut(Operation& operation) {
  if (operation.ended) return;
  const bool answered_before = heard_from_.count(operation.destination.gid) > 0;
  FinishLocally(operation, answered_before ? EfaStatus::kLocalUnresponsivePeer
                                           : EfaStatus::kLocalUnreachablePeer);
}

QueuePair* Nic::FindQueuePair(std::uint16_t number, std::uint32_t qkey) {
  if (number >= queue_pairs_.size() || queue_pairs_[number] == nullptr) return nullptr;
  return queue_pairs_[number]->qkey == qkey ? queue_pairs_[number].get() : nullptr;
}

void Nic::Report(CompletionRing& ring, const DeviceCompletion& completion) {
  ring.Push(completion);
  world_.Wake();
}

}  // namespace sim
