#include "sim/sim_domain.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fabric/shared_core.h"
#include "sim/sim_endpoint.h"

namespace sim {
namespace {

using fabric::ClosedError;
using fabric::CloseShared;

// Text of EFA's statuses, as rdma-core and libfabric name them.
const char* StatusText(int status) {
  switch (static_cast<EfaStatus>(status)) {
    case EfaStatus::kOk:
      return "success";
    case EfaStatus::kLocalInvalidLkey:
      return "invalid local key, range or right";
    case EfaStatus::kLocalBadLength:
      return "message too long";
    case EfaStatus::kRemoteBadAddress:
      return "invalid remote key, range or right";
    case EfaStatus::kRemoteBadQueuePair:
      return "no such queue pair at the destination";
    case EfaStatus::kRemoteNotReady:
      return "receiver not ready";
    case EfaStatus::kRemoteBadLength:
      return "posted receive too short";
    case EfaStatus::kLocalUnresponsivePeer:
      return "peer stopped answering";
    case EfaStatus::kRemoteUnknownPeer:
      return "the target does not know us";
    case EfaStatus::kLocalUnreachablePeer:
      return "peer never answered";
  }
  return "unknown status";
}

}  // namespace

// ---- Memory ----

SimMemoryRegion::SimMemoryRegion(std::shared_ptr<DomainCore> domain,
                                 const fabric::MemoryRequest& request, MemoryTable::Keys keys)
    : domain_(std::move(domain)), request_(request), keys_(keys) {}

fabric::RemoteBuffer SimMemoryRegion::remote() const {
  return {reinterpret_cast<std::uint64_t>(request_.data), keys_.remote};
}

absl::Status SimMemoryRegion::Close() {
  if (domain_ == nullptr) return absl::OkStatus();
  domain_->nic.memory().Deregister(keys_.remote);
  domain_.reset();
  return absl::OkStatus();
}

// ---- Completion queues ----

QueueCore::QueueCore(std::shared_ptr<DomainCore> owner, std::size_t depth)
    : domain(std::move(owner)), ring(std::make_shared<CompletionRing>(depth)) {
  ++domain->completion_queues;
}

QueueCore::~QueueCore() { --domain->completion_queues; }

SimCompletionQueue::SimCompletionQueue(std::shared_ptr<QueueCore> core)
    : core_(std::move(core)), depth_(core_->ring->depth()) {}

fabric::ReadResult SimCompletionQueue::Read(std::span<fabric::Completion> entries) {
  if (core_ == nullptr) return {0, fabric::ErrorCode::kClosed};
  if (entries.empty())
    return {};  // as on efa-direct, where a read of no entries does not even poll
  World& world = core_->domain->world;
  world.Charge(world.profile().poll_cost);
  fabric::ReadResult result;
  DeviceCompletion entry;
  while (result.count < entries.size() && core_->ring->Pop(entry)) {
    // Completions of a queue pair that was destroyed meanwhile are dropped.
    SimEndpoint* endpoint =
        entry.queue_pair < core_->endpoints.size() ? core_->endpoints[entry.queue_pair] : nullptr;
    if (endpoint != nullptr && endpoint->Translate(entry, entries[result.count])) ++result.count;
  }
  return result;
}

std::string SimCompletionQueue::ErrorText(const fabric::Completion& completion) {
  return absl::StrCat(StatusText(completion.provider_error), " (EFA status ",
                      completion.provider_error, ")");
}

absl::Status SimCompletionQueue::Close() { return CloseShared(core_, "completion queue"); }

// ---- Address vectors ----

VectorCore::~VectorCore() {
  for (const Entry& entry : entries) {
    if (entry.live) domain->nic.DestroyAddressHandle(domain->domain, entry.address.gid);
  }
}

const EfaAddress* VectorCore::Find(fabric::Peer peer) const {
  const auto packed = static_cast<std::uint64_t>(peer);
  const auto slot = static_cast<std::uint32_t>(packed);
  if (slot >= entries.size() || !entries[slot].live) return nullptr;
  return entries[slot].generation == packed >> 32 ? &entries[slot].address : nullptr;
}

absl::StatusOr<fabric::Peer> SimAddressVector::Insert(const fabric::Address& address) {
  if (core_ == nullptr) return ClosedError("address vector");
  absl::StatusOr<EfaAddress> decoded = EfaAddress::Decode(address);
  if (!decoded.ok()) return decoded.status();
  if (core_->free_slots.empty()) {
    core_->free_slots.push_back(static_cast<std::uint32_t>(core_->entries.size()));
    core_->entries.emplace_back();
  }
  const std::uint32_t slot = core_->free_slots.back();
  core_->free_slots.pop_back();
  VectorCore::Entry& entry = core_->entries[slot];
  entry = {.address = *decoded, .generation = entry.generation + 1, .live = true};
  core_->domain->nic.CreateAddressHandle(core_->domain->domain, decoded->gid);
  return static_cast<fabric::Peer>(static_cast<std::uint64_t>(entry.generation) << 32 | slot);
}

absl::Status SimAddressVector::Remove(fabric::Peer peer) {
  if (core_ == nullptr) return ClosedError("address vector");
  const EfaAddress* address = core_->Find(peer);
  if (address == nullptr) return absl::NotFoundError("remove peer: no such peer");
  core_->domain->nic.DestroyAddressHandle(core_->domain->domain, address->gid);
  const auto slot = static_cast<std::uint32_t>(static_cast<std::uint64_t>(peer));
  core_->entries[slot].live = false;
  core_->free_slots.push_back(slot);
  return absl::OkStatus();
}

absl::StatusOr<fabric::Address> SimAddressVector::Lookup(fabric::Peer peer) const {
  if (core_ == nullptr) return ClosedError("address vector");
  const EfaAddress* address = core_->Find(peer);
  if (address == nullptr) return absl::NotFoundError("look up peer: no such peer");
  return address->Encode();
}

absl::Status SimAddressVector::Close() { return CloseShared(core_, "address vector"); }

// ---- Domain ----

SimDomain::SimDomain(World& world, Nic& nic, const fabric::NicInfo& info)
    : info_(info),
      core_(std::make_shared<DomainCore>(
          DomainCore{.world = world, .nic = nic, .info = info, .domain = nic.AllocateDomain()})) {}

absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> SimDomain::RegisterMemory(
    const fabric::MemoryRequest& request) {
  if (core_ == nullptr) return ClosedError("domain");
  if (request.data == nullptr || request.length_bytes == 0) {
    return absl::InvalidArgumentError("register memory: the range is empty");
  }
  if (request.kind != fabric::MemoryKind::kSystem || request.dmabuf.has_value()) {
    return absl::UnimplementedError("register memory: the simulator takes host memory only");
  }
  absl::StatusOr<MemoryTable::Keys> keys = core_->nic.memory().Register(
      core_->domain, request.data, request.length_bytes, request.access);
  if (!keys.ok()) return keys.status();
  return std::make_unique<SimMemoryRegion>(core_, request, *keys);
}

absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> SimDomain::OpenCompletionQueue(
    const fabric::CompletionQueueOptions& options) {
  if (core_ == nullptr) return ClosedError("domain");
  if (options.blocking_wait) {
    return absl::UnimplementedError("open completion queue: nothing blocks in virtual time");
  }
  const fabric::Limits& limits = info_.limits;
  const std::size_t asked = options.depth != 0 ? options.depth : limits.completion_queue_depth;
  constexpr std::size_t kMostEntries =
      32768;  // max_cqe of ucx contrib/ibmock, recorded from a device
  if (asked > kMostEntries) {
    return absl::InvalidArgumentError(absl::StrCat("open completion queue: depth ", asked,
                                                   " is over the device's ", kMostEntries));
  }
  if (core_->completion_queues >= limits.max_completion_queues) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "open completion queue: the NIC has none left of its ", limits.max_completion_queues));
  }
  return std::make_unique<SimCompletionQueue>(
      std::make_shared<QueueCore>(core_, std::bit_ceil(asked)));
}

absl::StatusOr<std::unique_ptr<fabric::AddressVector>> SimDomain::OpenAddressVector() {
  if (core_ == nullptr) return ClosedError("domain");
  return std::make_unique<SimAddressVector>(std::make_shared<VectorCore>(core_));
}

absl::StatusOr<std::unique_ptr<fabric::Endpoint>> SimDomain::OpenEndpoint(
    const fabric::EndpointOptions& options) {
  if (core_ == nullptr) return ClosedError("domain");
  if (options.send_queue == nullptr || options.receive_queue == nullptr ||
      options.address_vector == nullptr) {
    return absl::InvalidArgumentError(
        "open endpoint: needs a send queue, a receive queue and an address vector");
  }
  const auto* send = dynamic_cast<SimCompletionQueue*>(&options.send_queue->Unwrap());
  const auto* receive = dynamic_cast<SimCompletionQueue*>(&options.receive_queue->Unwrap());
  const auto* peers = dynamic_cast<SimAddressVector*>(&options.address_vector->Unwrap());
  const auto ours = [this](const auto* object) {
    return object != nullptr && object->core() != nullptr && object->core()->domain == core_;
  };
  if (!ours(send) || !ours(receive) || !ours(peers)) {
    return absl::InvalidArgumentError(
        "open endpoint: its queues and address vector must be open and of the same domain");
  }
  QueuePair* queue_pair =
      core_->nic.CreateQueuePair(core_->domain, send->core()->ring, receive->core()->ring);
  if (queue_pair == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "open endpoint: the NIC has no queue pair left of its ", info_.limits.max_endpoints));
  }
  return std::make_unique<SimEndpoint>(send->core(), receive->core(), peers->core(), *queue_pair);
}

absl::Status SimDomain::Close() { return CloseShared(core_, "domain"); }

}  // namespace sim
