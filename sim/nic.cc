#include "sim/nic.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coro/check.h"
#include "sim/abroad.h"
#include "sim/faults/fault_model.h"
#include "sim/world.h"

namespace sim {

Nic::Nic(World& world, std::string name, std::uint32_t index, std::uint64_t identity,
         const Profile& profile, const NicOrigin& origin)
    : world_(world),
      name_(std::move(name)),
      profile_(profile),
      index_(index),
      machine_(static_cast<std::uint32_t>(identity >> 16)),
      remote_(origin.remote),
      gid_(origin.gid),
      qkeys_(world.seed(), Subsystem::kNicIdentity, identity, 1),
      engine_(world.seed(), Subsystem::kEngine, identity, 0),
      domains_(1, true),  // 0 is nobody's
      memory_(profile.device, RandomStream(world.seed(), Subsystem::kKeys, identity, 0)),
      address_handles_(profile.device.max_ah),
      link_(profile) {
  if (gid_ != Gid{}) return;
  gid_[0] = 0xfe;
  gid_[1] = 0x80;
  const std::uint64_t word = RandomStream(world.seed(), Subsystem::kNicIdentity, identity, 0).At(0);
  for (std::size_t i = 0; i < 8; ++i) gid_[8 + i] = static_cast<std::uint8_t>(word >> (8 * i));
}

// ---- What can happen to a machine ----

void Nic::set_answers_nonsense(bool nonsense) {
  answers_nonsense_ = nonsense;
  world_.NoteChange();
}

void Nic::Kill() {
  alive_ = false;
  world_.checks().memory().Died(index_);
  world_.NoteChange();
  for (const Job& job : jobs_) {
    Operation* operation = world_.operations().Find(job.operation);
    if (job.response && operation != nullptr) operation->initiator->StartTimeout(*operation);
  }
  for (const auto& queue_pair : queue_pairs_) {
    if (queue_pair == nullptr) continue;
    for (const OperationId id : queue_pair->waiting) {
      Operation* operation = world_.operations().Find(id);
      if (operation != nullptr) operation->initiator->StartTimeout(*operation);
    }
  }
}

void Nic::Revive() {
  alive_ = true;
  world_.NoteChange();
}

void Nic::Silence(const Nic& peer) {
  for (const auto& queue_pair : queue_pairs_) {
    if (queue_pair == nullptr) continue;
    for (const OperationId id : queue_pair->waiting) {
      Operation* operation = world_.operations().Find(id);
      if (operation != nullptr && operation->initiator == &peer)
        operation->initiator->StartTimeout(*operation);
    }
  }
}

// What waits here for a receive.
void Nic::FlushReceives(QueuePair& queue_pair) {
  queue_pair.state = QueuePairState::kError;
  ReceiveWork receive;
  while (queue_pair.receive.Peek(receive)) {
    Consume(queue_pair, receive);
    RefuseReceive(queue_pair, receive, EfaStatus::kFlushed);
  }
}

void Nic::Reset() {
  world_.NoteChange();
  for (const auto& queue_pair : queue_pairs_) {
    if (queue_pair != nullptr) FlushReceives(*queue_pair);
  }
  world_.operations().ForEach([this](Operation& operation) {
    if (operation.ended) return;
    if (operation.initiator == this) {
      FinishLocally(operation, EfaStatus::kFlushed);
    } else if (operation.peer == this) {
      Finish(operation, EfaStatus::kRemoteAbort);
    }
  });
}

void Nic::FailQueuePair(QueuePair& queue_pair) {
  world_.NoteChange();
  FlushReceives(queue_pair);
  world_.operations().ForEach([&](Operation& operation) {
    const bool its = operation.initiator == this && operation.queue_pair == queue_pair.number &&
                     operation.qkey == queue_pair.qkey;
    if (its && !operation.ended) FinishLocally(operation, EfaStatus::kFlushed);
  });
}

PeerState Nic::StateFor(const Nic& initiator, std::uint16_t number, std::uint32_t qkey) const {
  const QueuePair* queue_pair = FindQueuePair(number, qkey);
  if (queue_pair == nullptr) return PeerState::kNoQueuePair;
  const bool known =
      address_handles_.NumberOf(queue_pair->domain, initiator.index()) != AddressHandles::kUnknown;
  return known ? PeerState::kReachable : PeerState::kStranger;
}

// ---- Control path ----

absl::StatusOr<ProtectionDomain> Nic::AllocateDomain() {
  auto free = std::find(domains_.begin(), domains_.end(), false);
  if (free == domains_.end()) {
    if (domains_.size() > profile_.device.max_pd) {
      counters_.Refusal(&DeviceCounters::alloc_pd_err);
      return absl::ResourceExhaustedError(absl::StrCat(
          "open domain: the NIC has no protection domain left of its ", profile_.device.max_pd));
    }
    free = domains_.insert(free, false);
  }
  *free = true;
  counters_.Commands(1);
  return static_cast<ProtectionDomain>(free - domains_.begin());
}

void Nic::FreeDomain(ProtectionDomain domain) {
  counters_.Commands(1);
  domains_[domain] = false;
}

absl::StatusOr<MemoryTable::Keys> Nic::RegisterMemory(ProtectionDomain domain, std::byte* data,
                                                      std::size_t length_bytes,
                                                      fabric::Access access) {
  auto keys = memory_.Register(domain, data, length_bytes, access);
  if (keys.ok()) {
    counters_.Commands(1);
  } else if (absl::IsResourceExhausted(keys.status())) {
    counters_.Refusal(&DeviceCounters::reg_mr_err);
  } else {
    ++counters_.reg_mr_err;  // the driver sees that itself
  }
  return keys;
}

void Nic::DeregisterMemory(std::uint32_t remote_key) {
  counters_.Commands(1);
  memory_.Deregister(remote_key);
}

absl::StatusOr<std::uint16_t> Nic::CreateAddressHandle(ProtectionDomain domain, const Gid& peer) {
  world_.NoteChange();
  const std::size_t before = address_handles_.live();
  auto number = address_handles_.Create(domain, peer, world_.FindNic(peer));
  if (!number.ok()) {
    counters_.Refusal(&DeviceCounters::create_ah_err);
  } else if (address_handles_.live() > before) {
    counters_.Commands(1);  // the driver asks once for each destination
  }
  return number;
}

void Nic::DestroyAddressHandle(std::uint16_t number) {
  world_.NoteChange();
  if (!address_handles_.Destroy(number)) return;
  counters_.Commands(1);
  world_.operations().ForEach([&](Operation& operation) {
    const bool ours = operation.initiator == this && operation.address_handle == number;
    if (ours && !operation.ended) FinishLocally(operation, EfaStatus::kFlushed);
  });
}

absl::StatusOr<std::shared_ptr<CompletionRing>> Nic::CreateCompletionRing(std::size_t depth,
                                                                          std::byte* memory) {
  auto free = std::find_if(completion_rings_.begin(), completion_rings_.end(),
                           [](const auto& ring) { return ring.expired(); });
  if (free == completion_rings_.end()) {
    if (completion_rings_.size() >= profile_.device.max_cq) {
      counters_.Refusal(&DeviceCounters::create_cq_err);
      return absl::ResourceExhaustedError(absl::StrCat(
          "open completion queue: the NIC has none left of its ", profile_.device.max_cq));
    }
    free = completion_rings_.emplace(free);
  }
  const auto number = static_cast<std::uint16_t>(free - completion_rings_.begin());
  auto ring = std::make_shared<CompletionRing>(number, depth, memory);
  *free = ring;
  counters_.Commands(1);
  return ring;
}

absl::StatusOr<QueuePair*> Nic::CreateQueuePair(const QueuePairAttributes& attributes) {
  auto slot = std::find(queue_pairs_.begin(), queue_pairs_.end(), nullptr);
  if (slot == queue_pairs_.end()) {
    if (queue_pairs_.size() >= profile_.device.max_qp) {
      counters_.Refusal(&DeviceCounters::create_qp_err);
      return absl::ResourceExhaustedError(absl::StrCat(
          "open endpoint: the NIC has no queue pair left of its ", profile_.device.max_qp));
    }
    slot = queue_pairs_.insert(slot, nullptr);
  }
  const std::size_t entry_bytes =
      attributes.wide ? sizeof(fabric::efa_queue::WideWqe) : sizeof(fabric::efa_queue::NarrowWqe);
  *slot = std::make_unique<QueuePair>(
      attributes,
      static_cast<std::uint32_t>(MaxBatch(profile_, entry_bytes, attributes.send_entries)),
      profile_.device.max_wr_recv_sges);
  QueuePair& queue_pair = **slot;
  queue_pair.ordinal = queue_pairs_made_++;
  queue_pair.number = static_cast<std::uint16_t>(slot - queue_pairs_.begin());
  queue_pair.qkey =
      static_cast<std::uint32_t>(qkeys_.Next()) & 0x7fffffffu;  // the top bit is privileged
  counters_.Commands(4);  // it is created, and then modified: INIT, RTR, RTS
  return &queue_pair;
}

void Nic::DestroyQueuePair(QueuePair& queue_pair) {
  counters_.Commands(1);
  world_.NoteChange();
  world_.operations().ForEach([&](Operation& operation) {
    const bool its = operation.initiator == this && operation.queue_pair == queue_pair.number &&
                     operation.qkey == queue_pair.qkey;
    if (!its) return;
    if (operation.abroad) Abroad::Ended(operation);
    if (operation.faulted) world_.faults()->Forget(operation);
    world_.operations().End(operation);
  });
  // Whoever waits for a receive here finds out at its next attempt.
  for (const OperationId id : queue_pair.waiting) {
    world_.Schedule(world_.Now() + profile_.rnr_delay, this, EventKind::kRnrRetry, 0, id.Pack());
  }
  std::erase(unfetched_, &queue_pair);
  queue_pairs_[queue_pair.number] = nullptr;
}

// ---- Events ----

void Nic::OnEvent(const Event& event) {
  if (remote_ != nullptr) return Abroad::OnEvent(*this, event);
  if (world_.faults() != nullptr && world_.Now() < world_.faults()->PausedUntil(*this)) {
    return world_.ScheduleAt(world_.faults()->PausedUntil(*this), this, event.kind, event.a,
                             event.b);
  }
  if (event.kind == EventKind::kTransmit) return Transmit();
  if (event.kind == EventKind::kLand) return Land(event.b);
  Operation* operation = world_.operations().Find(OperationId::Unpack(event.b));
  if (operation == nullptr) return;
  if (event.kind == EventKind::kAnswer) return Answer(*operation);
  if (event.kind == EventKind::kTimeOut) return TimeOut(*operation);
  if (operation->ended) return;  // the rest of an operation that failed
  if (!alive_) return operation->initiator->StartTimeout(*operation);
  const std::uint32_t packet = event.a & kPacketMask;
  const bool second_copy = (event.a & kSecondCopy) != 0;
  switch (event.kind) {
    case EventKind::kReadData:
      return ArriveReadData(*operation, packet, second_copy);
    case EventKind::kPlaceRest:
      return PlaceRest(*operation, event.a);
    case EventKind::kRnrRetry:
      return RetryReceive(*operation);
    default:
      return Arrive(*operation, packet, second_copy);
  }
}

void Nic::Report(CompletionRing& ring, const DeviceCompletion& completion) {
  world_.Log({.kind = EventKind::kComplete,
              .branch = completion.status,
              .actor = index_,
              .packet = completion.immediate,
              .operation = std::uint64_t{completion.queue_pair} << 16 | completion.request_id,
              .bytes = completion.length_bytes});
  outcomes_.Completed(completion.kind, completion.status);
  const bool kept = ring.Push(completion);
  if (!kept) ReportLost(ring);
  if (world_.device_listener() != nullptr) [[unlikely]] {
    world_.device_listener()->OnReported(*this, ring, completion, kept);
  }
  TellReported(completion, kept);
  if (ring.service().Arrived(world_.Elapsed())) {
    world_.checks().QueueNotServed(name_, ring.number(), world_.Elapsed());
  }
  world_.Wake();
  if (world_.faults() != nullptr) world_.faults()->Reported(*this, ring);
}

void Nic::ReportLost(const CompletionRing& ring) {
  ++counters_.completions_lost;
  world_.checks().CompletionLost(name_, ring.number(), ring.depth(), world_.Elapsed());
}

}  // namespace sim
