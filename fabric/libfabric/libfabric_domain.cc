#include "drydock/fabric/libfabric/libfabric_domain.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>

#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/libfabric/efa_counter.h"
#include "drydock/fabric/libfabric/endpoint_opening.h"
#include "drydock/fabric/libfabric/errno_mapping.h"
#include "drydock/fabric/libfabric/libfabric_endpoint.h"
#include "drydock/fabric/libfabric/registration.h"
#include "drydock/fabric/shared_core.h"

namespace drydock::fabric::libfabric {
namespace {

// "open endpoint on tcp;ofi_rxm eth0", for messages.
std::string On(absl::string_view what, const NicInfo& nic) {
  return absl::StrCat(what, " on ", nic.provider, " ", nic.name);
}

absl::StatusOr<Handle<fid_cq>> OpenQueue(DomainCore& core, std::size_t depth, bool blocking) {
  fi_cq_attr attributes{};
  attributes.size = depth;
  attributes.format = HasTags(core) ? FI_CQ_FORMAT_TAGGED : FI_CQ_FORMAT_DATA;
  attributes.wait_obj = blocking ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* queue = nullptr;
  const int result = core.api.OpenCompletionQueue(core.domain.get(), &attributes, &queue);
  if (result != 0) {
    return ControlError(result, On("open completion queue", core.nic.described) + ": fi_cq_open");
  }
  return Handle<fid_cq>(core.api, queue);
}

absl::StatusOr<Handle<fid_cntr>> OpenCount(DomainCore& core) {
  fi_cntr_attr attributes{};
  attributes.events = FI_CNTR_EVENTS_COMP;
  attributes.wait_obj = FI_WAIT_NONE;
  fid_cntr* counter = nullptr;
  const int result = core.api.OpenCounter(core.domain.get(), &attributes, &counter);
  if (result != 0) {
    return ControlError(result, On("open counter", core.nic.described) + ": fi_cntr_open");
  }
  return Handle<fid_cntr>(core.api, counter);
}

// Whether the retries of a send without a receive can be chosen: an endpoint that is never enabled
// is asked.
bool RetriesCanBeChosen(DomainCore& core) {
  constexpr std::size_t kForEver = 7;
  fid_ep* endpoint = nullptr;
  if (core.api.OpenEndpoint(core.domain.get(), core.nic.info, &endpoint) != 0) return false;
  const Handle<fid_ep> handle(core.api, endpoint);
  return core.api.SetOption(endpoint, FI_OPT_EFA_RNR_RETRY, kForEver) == 0;
}

// Capabilities that no attribute tells: they are tried.
void AddTried(DomainCore& core, CapabilitySet& capabilities) {
  if (OpenQueue(core, 1, /*blocking=*/true).ok()) capabilities.Add(Capability::kBlockingWait);
  if (OpenCount(core).ok()) capabilities.Add(Capability::kCounters);
  const bool reliable = core.nic.ask.endpoint_type == FI_EP_RDM;
  if (core.is_efa && reliable && RetriesCanBeChosen(core)) {
    capabilities.Add(Capability::kReceiverNotReadyRetry);
  }
}

}  // namespace

QueueCore::QueueCore(std::shared_ptr<DomainCore> owner, Handle<fid_cq> handle, std::size_t entries,
                     bool with_sources)
    : domain(std::move(owner)),
      queue(std::move(handle)),
      events(domain->is_efa ? &domain->events : nullptr),
      tells_source(with_sources),
      immediates_name_receives(domain->immediates_name_receives),
      entry_bytes(HasTags(*domain) ? sizeof(fi_cq_tagged_entry) : sizeof(fi_cq_data_entry)),
      depth(entries) {}

void QueueCore::Adopt(std::unique_ptr<RequestSlots> slots) {
  slots->Orphan();
  if (!slots->all_done()) orphans.push_back(std::move(slots));
}

// ---- Memory ----

LibfabricMemoryRegion::LibfabricMemoryRegion(std::shared_ptr<DomainCore> domain,
                                             const MemoryRequest& request, Handle<fid_mr> region)
    : domain_(std::move(domain)),
      request_(request),
      region_(std::move(region)),
      local_key_(reinterpret_cast<std::uint64_t>(fi_mr_desc(region_.get()))) {
  const bool virtual_address = (domain_->nic.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  remote_.address = virtual_address ? reinterpret_cast<std::uint64_t>(request.data) : 0;
  remote_.key = fi_mr_key(region_.get());
}

absl::Status LibfabricMemoryRegion::Close() {
  if (!region_) return absl::OkStatus();
  const int result = region_.Close();
  domain_.reset();
  return result == 0 ? absl::OkStatus() : ControlError(result, "close memory region: fi_close");
}

// ---- Domain ----

absl::StatusOr<std::unique_ptr<Domain>> LibfabricDomain::Open(Api& api, const NicChoice& nic) {
  auto core = std::make_shared<DomainCore>(api, nic);
  core->is_efa = IsEfa(*nic.info);
  core->shares_memory = nic.described.provider == "shm";
  core->immediates_name_receives = nic.described.capabilities.Has(Capability::kSolicitedImmediate);
  fid_fabric* fabric = nullptr;
  if (const int result = api.OpenFabric(nic.info->fabric_attr, &fabric); result != 0) {
    return ControlError(result, On("open fabric", nic.described) + ": fi_fabric");
  }
  core->fabric = Handle<fid_fabric>(api, fabric);
  if (core->is_efa) RETURN_IF_ERROR(core->events.Open(api, fabric));
  fid_domain* domain = nullptr;
  if (const int result = api.OpenDomain(fabric, nic.info, &domain); result != 0) {
    return ControlError(result, On("open domain", nic.described) + ": fi_domain");
  }
  core->domain = Handle<fid_domain>(api, domain);
  NicInfo info = nic.described;
  AddTried(*core, info.capabilities);
  return std::make_unique<LibfabricDomain>(std::move(core), std::move(info));
}

absl::StatusOr<std::unique_ptr<MemoryRegion>> LibfabricDomain::RegisterMemory(
    const MemoryRequest& request) {
  if (core_ == nullptr) return ClosedError("domain");
  if (request.data == nullptr || request.length_bytes == 0) {
    return absl::InvalidArgumentError("register memory: the range is empty");
  }
  if (request.length_bytes >
      std::numeric_limits<std::uintptr_t>::max() - reinterpret_cast<std::uintptr_t>(request.data)) {
    return absl::InvalidArgumentError(absl::StrCat("register memory: ", request.length_bytes,
                                                   " B reach past the end of the address space"));
  }
  Registration registration;
  RETURN_IF_ERROR(Describe(request, *core_->nic.info, registration));
  if ((core_->nic.info->domain_attr->mr_mode & FI_MR_PROV_KEY) == 0) {
    registration.attributes.requested_key = core_->next_key.fetch_add(1);
  }
  fid_mr* region = nullptr;
  const int result = core_->api.RegisterMemory(core_->domain.get(), &registration.attributes,
                                               registration.flags, &region);
  if (result != 0) {
    return ControlError(result, On(absl::StrCat("register ", request.length_bytes, " B"), info_) +
                                    ": fi_mr_regattr");
  }
  return std::make_unique<LibfabricMemoryRegion>(core_, request,
                                                 Handle<fid_mr>(core_->api, region));
}

absl::StatusOr<std::unique_ptr<CompletionQueue>> LibfabricDomain::OpenCompletionQueue(
    const CompletionQueueOptions& options) {
  if (core_ == nullptr) return ClosedError("domain");
  constexpr std::size_t kMostEntries = 1u << 20;
  if (options.depth > kMostEntries) {
    return absl::InvalidArgumentError(
        absl::StrCat("open completion queue: depth ", options.depth, " is over ", kMostEntries));
  }
  if (options.source_addresses && !info_.capabilities.Has(Capability::kSourceAddress)) {
    return absl::UnimplementedError(
        On("open completion queue: source_addresses: no senders are told", info_));
  }
  const std::size_t depth =
      options.depth != 0 ? options.depth : info_.limits.completion_queue_depth;
  ASSIGN_OR_RETURN(Handle<fid_cq> queue, OpenQueue(*core_, depth, options.blocking_wait));
  std::optional<int> descriptor;
  if (options.blocking_wait) {
    int number = -1;
    if (const int result = core_->api.GetWaitDescriptor(queue.get(), &number); result != 0) {
      return ControlError(result, On("open completion queue", info_) + ": fi_control(FI_GETWAIT)");
    }
    descriptor = number;
  }
  return std::make_unique<LibfabricCompletionQueue>(
      std::make_shared<QueueCore>(core_, std::move(queue), depth, options.source_addresses),
      descriptor);
}

absl::StatusOr<std::unique_ptr<AddressVector>> LibfabricDomain::OpenAddressVector() {
  if (core_ == nullptr) return ClosedError("domain");
  fi_av_attr attributes{};
  attributes.type = FI_AV_TABLE;
  fid_av* vector = nullptr;
  if (const int result = core_->api.OpenAddressVector(core_->domain.get(), &attributes, &vector);
      result != 0) {
    return ControlError(result, On("open address vector", info_) + ": fi_av_open");
  }
  return std::make_unique<LibfabricAddressVector>(
      std::make_shared<VectorCore>(core_, Handle<fid_av>(core_->api, vector)));
}

absl::StatusOr<std::unique_ptr<Counter>> LibfabricDomain::OpenCounter() {
  if (core_ == nullptr) return ClosedError("domain");
  if (!info_.capabilities.Has(Capability::kCounters)) {
    return absl::UnimplementedError(On("open counter: there are none", info_));
  }
  ASSIGN_OR_RETURN(Handle<fid_cntr> counter, OpenCount(*core_));
  return std::make_unique<LibfabricCounter>(
      std::make_shared<CounterCore>(CounterCore{core_, std::move(counter)}));
}

absl::StatusOr<std::unique_ptr<Counter>> LibfabricDomain::OpenCounterIn(
    const CounterMemory& memory) {
  if (core_ == nullptr) return ClosedError("domain");
  ASSIGN_OR_RETURN(EfaCounterInit init, Describe(memory));
  EfaGdaOps* const ops = FindCounterOps(core_->api, core_->domain.get());
  if (ops == nullptr) return absl::UnimplementedError(On("open counter: none in memory", info_));
  fi_cntr_attr attributes{};
  attributes.events = FI_CNTR_EVENTS_COMP;
  attributes.wait_obj = FI_WAIT_NONE;
  fid_cntr* counter = nullptr;
  const int result = ops->cntr_open_ext(core_->domain.get(), &attributes, &counter, nullptr, &init);
  if (result != 0) return ControlError(result, On("open counter", info_) + ": cntr_open_ext");
  return std::make_unique<LibfabricCounter>(
      std::make_shared<CounterCore>(CounterCore{core_, Handle<fid_cntr>(core_->api, counter)}));
}

void* LibfabricDomain::QueryPower(const PowerId& power) {
  if (core_ == nullptr || &power != &CountersInMemory::kPower || !core_->is_efa) return nullptr;
  if (FindCounterOps(core_->api, core_->domain.get()) == nullptr) return nullptr;
  return static_cast<CountersInMemory*>(this);
}

absl::StatusOr<std::unique_ptr<Endpoint>> LibfabricDomain::OpenEndpoint(
    const EndpointOptions& options) {
  if (core_ == nullptr) return ClosedError("domain");
  ASSIGN_OR_RETURN(EndpointParts parts, CheckParts(core_, options));
  ASSIGN_OR_RETURN(OpenedEndpoint opened,
                   OpenAndEnable(*core_, info_.capabilities, options, parts));
  return std::make_unique<LibfabricEndpoint>(std::move(parts), std::move(opened));
}

absl::Status LibfabricDomain::Close() { return CloseShared(core_, "domain"); }

}  // namespace drydock::fabric::libfabric
