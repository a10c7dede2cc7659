#include "drydock/sim/driver/sim_domain.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/shared_core.h"
#include "drydock/sim/driver/sim_endpoint.h"
#include "drydock/sim/driver/sim_objects.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {
namespace {

using fabric::ClosedError;
using fabric::CloseShared;
using fabric::EndpointOptions;
using fabric::EndpointType;

// The limits of an endpoint with these options, or why the device cannot give it.
absl::StatusOr<fabric::Limits> LimitsFor(const EndpointOptions& options, const Profile& profile,
                                         const fabric::NicInfo& nic) {
  const bool datagram = options.type == EndpointType::kDatagram;
  if (options.receiver_not_ready_retries.has_value()) {
    if (datagram || !profile.device.rnr_retry) {
      return absl::UnimplementedError(
          "open endpoint: receiver_not_ready_retries cannot be set here");
    }
    if (*options.receiver_not_ready_retries > kRetryForEver) {
      return absl::InvalidArgumentError(
          absl::StrCat("open endpoint: receiver_not_ready_retries is ",
                       *options.receiver_not_ready_retries, ", at most 7 (for ever) is possible"));
    }
  }
  if (datagram && options.receives_take_immediates) {
    return absl::UnimplementedError("open endpoint: datagrams carry no immediates of writes");
  }
  if (options.inject_bytes > MaxInlineBytes(profile) || (datagram && options.inject_bytes > 0)) {
    return absl::UnimplementedError(absl::StrCat("open endpoint: inject_bytes of ",
                                                 options.inject_bytes, " is over the device's ",
                                                 datagram ? 0 : MaxInlineBytes(profile)));
  }
  fabric::Limits limits = profile.limits;
  if (datagram) limits = DatagramLimits(profile);
  if (!datagram && options.inject_bytes > profile.limits.inject_bytes) {
    limits = EfaDirectLimits(profile, options.inject_bytes);
  }
  if (!datagram) {  // the NIC's limits: efa-direct and the fabric efa differ
    limits.max_rma_bytes = nic.limits.max_rma_bytes;
    limits.rma_segments = nic.limits.rma_segments;
  }
  return limits;
}

// The counters of an endpoint: here, and in its device.
struct Counted {
  std::vector<std::shared_ptr<DomainCounter>> all;
  CounterSet by_driver;
  CounterSet by_device;
};

absl::StatusOr<Counted> CountersOf(const fabric::CounterBindings& bindings,
                                   const std::shared_ptr<QueueCore>& sends,
                                   const std::shared_ptr<QueueCore>& receives) {
  Counted counted;
  const std::array<fabric::Counter*, kCounterKinds> given = {
      bindings.sends, bindings.receives,      bindings.writes,
      bindings.reads, bindings.remote_writes, bindings.remote_reads};
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] == nullptr) continue;
    const auto* counter = dynamic_cast<SimCounter*>(&given[i]->Unwrap());
    if (counter == nullptr || counter->core() == nullptr ||
        counter->core()->domain() != sends->domain) {
      return absl::InvalidArgumentError(
          "open endpoint: its counters must be open and of the same domain");
    }
    const std::shared_ptr<DomainCounter>& core = counter->core();
    counted.all.push_back(core);
    (core->in_device() ? counted.by_device : counted.by_driver)[i] = core->core();
    // The device's own is read without a look into a queue (ofiwg/libfabric
    // prov/efa/src/efa_hw_cntr.c, efa_hw_cntr_read).
    if (core->in_device()) continue;
    for (const auto& queue : {sends, receives}) core->AddQueue(queue);
  }
  return counted;
}

}  // namespace

absl::StatusOr<std::unique_ptr<fabric::Domain>> SimDomain::Open(World& world, Nic& nic,
                                                                const fabric::NicInfo& info,
                                                                bool is_protocols) {
  ASSIGN_OR_RETURN(const ProtectionDomain domain, nic.admin().AllocateDomain());
  return std::make_unique<SimDomain>(
      std::make_shared<DomainCore>(world, nic, info, domain, is_protocols));
}

absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> SimDomain::RegisterMemory(
    const fabric::MemoryRequest& request) {
  if (core_ == nullptr) return ClosedError("domain");
  if (request.data == nullptr || request.length_bytes == 0) {
    return absl::InvalidArgumentError("register memory: the range is empty");
  }
  std::shared_ptr<fabric::PeerMemory> pinned;
  if (request.kind != fabric::MemoryKind::kSystem) {
    ASSIGN_OR_RETURN(pinned, core_->world.bus().Pin(request));
  } else if (request.dmabuf.has_value()) {
    return absl::InvalidArgumentError(
        "register memory: a dmabuf of host memory; simulated NICs take those of attached devices");
  }
  const struct {
    fabric::Access right;
    fabric::Capability needed;
  } rights[] = {{fabric::Access::kRemoteWrite, fabric::Capability::kRemoteWrite},
                {fabric::Access::kWrite, fabric::Capability::kRemoteWrite},
                {fabric::Access::kRemoteRead, fabric::Capability::kRemoteRead},
                {fabric::Access::kRead, fabric::Capability::kRemoteRead}};
  for (const auto& [right, needed] : rights) {
    if (fabric::Allows(request.access, right) && !info_.capabilities.Has(needed)) {
      return absl::UnimplementedError(
          absl::StrCat("register memory: the access asks for ",
                       needed == fabric::Capability::kRemoteRead ? "reads" : "writes", ", which ",
                       info_.name, " lacks"));
    }
  }
  // The driver registers memory that may be sent from for remote reads too, where the device has
  // them (ofiwg/libfabric prov/efa/src/efa_mr.c): its software protocol reads the source of a long
  // message.
  fabric::Access access = request.access;
  if (fabric::Allows(access, fabric::Access::kSend) && core_->nic.profile().device.rdma_read) {
    access = access | fabric::Access::kRemoteRead;
  }
  const std::uint64_t page_bytes =
      pinned != nullptr ? core_->nic.profile().device.gpu_page_bytes
                        : core_->world.bus().PageBytes(
                              reinterpret_cast<std::uint64_t>(request.data), request.length_bytes);
  ASSIGN_OR_RETURN(const MemoryTable::Keys keys,
                   core_->nic.admin().RegisterMemory(core_->domain, request.data,
                                                     request.length_bytes, access, page_bytes));
  return std::make_unique<SimMemoryRegion>(core_, request, keys, std::move(pinned));
}

absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> SimDomain::OpenCompletionQueue(
    const fabric::CompletionQueueOptions& options) {
  if (core_ == nullptr) return ClosedError("domain");
  if (options.blocking_wait) {
    return absl::UnimplementedError("open completion queue: a simulated queue is polled");
  }
  const std::size_t asked =
      options.depth != 0 ? options.depth : info_.limits.completion_queue_depth;
  const std::size_t most = core_->nic.profile().device.max_cq_depth;
  if (asked > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("open completion queue: depth ", asked, " is over the device's ", most));
  }
  std::size_t entries = std::bit_ceil(asked);
  Surroundings& around = core_->world.surroundings();
  if (around.faults != nullptr) {
    entries = around.faults->OnOpenCompletionQueue(core_->nic.state(), entries);
  }
  ASSIGN_OR_RETURN(auto ring, core_->nic.admin().CreateCompletionRing(entries));
  around.observers.Tell<&Observer::OnQueueOpened>(*ring, core_->object);
  return std::make_unique<SimCompletionQueue>(std::make_shared<QueueCore>(core_, std::move(ring)));
}

absl::StatusOr<std::unique_ptr<fabric::AddressVector>> SimDomain::OpenAddressVector() {
  if (core_ == nullptr) return ClosedError("domain");
  return std::make_unique<SimAddressVector>(std::make_shared<VectorCore>(core_));
}

absl::StatusOr<std::unique_ptr<fabric::Counter>> SimDomain::OpenCounter() {
  if (core_ == nullptr) return ClosedError("domain");
  return std::make_unique<SimCounter>(DomainCounter::Open(core_));
}

absl::StatusOr<std::unique_ptr<fabric::Counter>> SimDomain::OpenCounterIn(
    const fabric::CounterMemory& memory) {
  if (core_ == nullptr) return ClosedError("domain");
  ASSIGN_OR_RETURN(auto counter, DomainCounter::OpenIn(core_, memory));
  return std::make_unique<SimCounter>(std::move(counter));
}

void* SimDomain::QueryPower(const fabric::PowerId& power) {
  const bool has = core_ != nullptr && core_->nic.profile().device.max_comp_cntr > 0;
  if (!has || &power != &fabric::CountersInMemory::kPower) return nullptr;
  return static_cast<fabric::CountersInMemory*>(this);
}

absl::StatusOr<std::unique_ptr<fabric::Endpoint>> SimDomain::OpenEndpoint(
    const EndpointOptions& options) {
  if (core_ == nullptr) return ClosedError("domain");
  if (options.send_queue == nullptr || options.receive_queue == nullptr ||
      options.address_vector == nullptr) {
    return absl::InvalidArgumentError(
        "open endpoint: needs a send queue, a receive queue and an address vector");
  }
  const auto* send = dynamic_cast<SimCompletionQueue*>(&options.send_queue->Unwrap());
  const auto* receive = dynamic_cast<SimCompletionQueue*>(&options.receive_queue->Unwrap());
  const auto* peers = dynamic_cast<SimAddressVector*>(&options.address_vector->Unwrap());
  const bool ours = send != nullptr && send->core() != nullptr && send->core()->domain == core_ &&
                    receive != nullptr && receive->core() != nullptr &&
                    receive->core()->domain == core_ && peers != nullptr &&
                    peers->core() != nullptr && peers->core()->domain() == core_;
  if (!ours) {
    return absl::InvalidArgumentError(
        "open endpoint: its queues and address vector must be open and of the same domain");
  }
  const Profile& profile = core_->nic.profile();
  ASSIGN_OR_RETURN(fabric::Limits limits, LimitsFor(options, profile, info_));
  if (FaultPoints* faults = core_->world.surroundings().faults) {
    faults->OnOpenEndpoint(core_->nic.state(), limits);
  }
  QueuePairAttributes attributes;
  ASSIGN_OR_RETURN(Counted counted, CountersOf(options.counters, send->core(), receive->core()));
  attributes.counters = counted.by_device;
  attributes.type =
      options.type == EndpointType::kDatagram ? QueuePairType::kUd : QueuePairType::kSrd;
  attributes.domain = core_->domain;
  attributes.send_ring = send->core()->ring;
  attributes.receive_ring = receive->core()->ring;
  attributes.wide = limits.inject_bytes > profile.device.inline_buf_size;
  attributes.send_entries = static_cast<std::uint32_t>(std::bit_ceil(limits.send_queue_depth));
  attributes.receive_descriptors = static_cast<std::uint32_t>(
      std::bit_ceil(limits.receive_queue_depth * limits.receive_segments));
  attributes.rnr_retries = options.receiver_not_ready_retries.value_or(profile.rnr_retries);
  attributes.unsolicited_immediates =
      profile.device.unsolicited_write_recv && !options.receives_take_immediates;
  ASSIGN_OR_RETURN(QueuePair * queue_pair, core_->nic.admin().CreateQueuePair(attributes));
  return std::make_unique<SimEndpoint>(send->core(), receive->core(), peers->core(), *queue_pair,
                                       limits, counted.by_driver, std::move(counted.all));
}

absl::Status SimDomain::Close() { return open_.Closing(CloseShared(core_, "domain")); }

}  // namespace drydock::sim
