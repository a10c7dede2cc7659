#include "drydock/sim/rdm/rdm_domain.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/shared_core.h"
#include "drydock/sim/rdm/outcome.h"
#include "drydock/sim/rdm/rdm_endpoint.h"

namespace drydock::sim::rdm {

using fabric::Capability;
using fabric::ClosedError;
using fabric::CloseShared;

namespace {

// Entries that a device's queue can have: max_cqe of openucx/ucx contrib/ibmock, recorded from one.
constexpr std::size_t kMostEntries = 32768;

// The value of FI_OPT_EFA_RNR_RETRY that leaves all retries to the device.
constexpr std::uint32_t kRetryForEver = 7;

absl::Status CheckOptions(const fabric::EndpointOptions& options, const fabric::NicInfo& nic) {
  if (options.send_queue == nullptr || options.receive_queue == nullptr ||
      options.address_vector == nullptr) {
    return absl::InvalidArgumentError(
        "open endpoint: needs a send queue, a receive queue and an address vector");
  }
  if (options.type != fabric::EndpointType::kReliable) {
    return absl::UnimplementedError("open endpoint: this NIC offers no datagram endpoints");
  }
  if (options.receives_take_immediates) {
    return absl::UnimplementedError(
        "open endpoint: receives_take_immediates is for efa-direct only");
  }
  if (options.receiver_not_ready_retries.has_value()) {
    if (!nic.capabilities.Has(Capability::kReceiverNotReadyRetry)) {
      return absl::UnimplementedError(
          "open endpoint: receiver_not_ready_retries cannot be set on this NIC");
    }
    if (*options.receiver_not_ready_retries > kRetryForEver) {
      return absl::InvalidArgumentError(
          absl::StrCat("open endpoint: receiver_not_ready_retries is ",
                       *options.receiver_not_ready_retries, ", at most 7 (for ever) is possible"));
    }
  }
  if (options.inject_bytes > nic.limits.inject_bytes) {
    return absl::UnimplementedError(absl::StrCat("open endpoint: inject_bytes ",
                                                 options.inject_bytes, " is over the limit of ",
                                                 nic.limits.inject_bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<Counters> CountersOf(const fabric::CounterBindings& bindings,
                                    const std::shared_ptr<DomainCore>& domain) {
  Counters counters;
  const std::pair<fabric::Counter*, std::shared_ptr<CounterCore>*> rows[] = {
      {bindings.sends, &counters.sends},
      {bindings.receives, &counters.receives},
      {bindings.writes, &counters.writes},
      {bindings.reads, &counters.reads},
      {bindings.remote_writes, &counters.remote_writes},
      {bindings.remote_reads, &counters.remote_reads}};
  for (const auto& [given, place] : rows) {
    if (given == nullptr) continue;
    const auto* counter = dynamic_cast<RdmCounter*>(&given->Unwrap());
    if (counter == nullptr || counter->domain() != domain) {
      return absl::InvalidArgumentError(
          "open endpoint: its counters must be open and of the same domain");
    }
    *place = counter->core();
  }
  return counters;
}

}  // namespace

// ---- Memory ----

RdmMemoryRegion::RdmMemoryRegion(std::shared_ptr<DomainCore> domain, MemoryRegistry::Region* region)
    : domain_(std::move(domain)),
      region_(region),
      data_(region->device->data()),
      length_bytes_(region->device->length_bytes()),
      access_(region->access),
      local_key_(region->device->local_key()),
      remote_(region->device->remote()) {}

absl::Status RdmMemoryRegion::Close() {
  if (domain_ == nullptr) return absl::OkStatus();
  domain_->memory.Remove(region_);
  domain_->alarm->WakeAt(domain_->alarm->Now());  // so that its users notice
  domain_.reset();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> RdmDomain::RegisterMemory(
    const fabric::MemoryRequest& request) {
  if (core_ == nullptr) return ClosedError("domain");
  if (request.kind != fabric::MemoryKind::kSystem) {
    return absl::UnimplementedError(
        "register memory: packets are copied by the CPU, which takes host memory only; "
        "--provider=efa-direct takes a device's");
  }
  absl::StatusOr<MemoryRegistry::Region*> region = core_->memory.Add(request);
  if (!region.ok()) return region.status();
  return std::make_unique<RdmMemoryRegion>(core_, *region);
}

// ---- Completion queues ----

fabric::ReadResult RdmCompletionQueue::Read(std::span<fabric::Completion> entries) {
  if (core_ == nullptr) return {0, fabric::ErrorCode::kClosed};
  fabric::ReadResult result;
  if (entries.empty()) return result;
  for (ProgressSource* source : core_->sink.sources()) {
    const fabric::ErrorCode error = source->MakeProgress();
    if (error != fabric::ErrorCode::kOk) result.error = error;
    source->FreeSlots();
  }
  std::erase_if(core_->domain->leaving, [](const std::unique_ptr<ProgressSource>& source) {
    static_cast<void>(source->MakeProgress());
    return source->HasLeft();
  });
  while (result.count < entries.size() && core_->sink.Pop(entries[result.count])) ++result.count;
  return result;
}

std::string RdmCompletionQueue::ErrorText(const fabric::Completion& completion) {
  const std::string_view ours = ProviderErrorText(completion.provider_error);
  if (!ours.empty()) {
    return absl::StrCat(std::string(ours), " (EFA provider error ", completion.provider_error, ")");
  }
  if (core_ != nullptr && !core_->sink.sources().empty()) {
    return core_->sink.sources().front()->DeviceErrorText(completion);
  }
  return std::string(fabric::Describe(completion.error).meaning);
}

void* RdmCompletionQueue::QueryPower(const fabric::PowerId& power) {
  return &power == &fabric::ErrorDetails::kPower ? static_cast<fabric::ErrorDetails*>(this)
                                                 : nullptr;
}

absl::Status RdmCompletionQueue::Close() { return CloseShared(core_, "completion queue"); }

absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> RdmDomain::OpenCompletionQueue(
    const fabric::CompletionQueueOptions& options) {
  if (core_ == nullptr) return ClosedError("domain");
  if (options.blocking_wait) {
    return absl::UnimplementedError(
        "open completion queue: progress is made by reading, nobody could wake a sleeper");
  }
  const std::size_t depth =
      options.depth != 0 ? options.depth : info_.limits.completion_queue_depth;
  if (depth > std::max(kMostEntries, info_.limits.completion_queue_depth)) {
    return absl::InvalidArgumentError(absl::StrCat("open completion queue: depth ", depth,
                                                   " is over the device's ", kMostEntries));
  }
  if (core_->completion_queues >= info_.limits.max_completion_queues) {
    return absl::ResourceExhaustedError(
        absl::StrCat("open completion queue: the NIC has none left of its ",
                     info_.limits.max_completion_queues));
  }
  return std::make_unique<RdmCompletionQueue>(std::make_shared<QueueCore>(core_, depth));
}

// ---- Address vectors ----

absl::StatusOr<fabric::Peer> RdmAddressVector::Insert(const fabric::Address& address) {
  if (core_ == nullptr) return ClosedError("address vector");
  return core_->book->Insert(address);
}

absl::Status RdmAddressVector::Remove(fabric::Peer peer) {
  if (core_ == nullptr) return ClosedError("address vector");
  return core_->book->Remove(peer);
}

absl::StatusOr<fabric::Address> RdmAddressVector::Lookup(fabric::Peer peer) const {
  if (core_ == nullptr) return ClosedError("address vector");
  return core_->book->Lookup(peer);
}

absl::Status RdmAddressVector::Close() { return CloseShared(core_, "address vector"); }

absl::StatusOr<std::unique_ptr<fabric::AddressVector>> RdmDomain::OpenAddressVector() {
  if (core_ == nullptr) return ClosedError("domain");
  auto device = core_->device->OpenAddressVector();
  if (!device.ok()) return device.status();
  return std::make_unique<RdmAddressVector>(
      std::make_shared<VectorCore>(core_, *std::move(device)));
}

// ---- Counters ----

absl::Status RdmCounter::Set(std::uint64_t value) {
  if (core_ == nullptr) return ClosedError("counter");
  core_->Set(value);
  return absl::OkStatus();
}

absl::Status RdmCounter::Add(std::uint64_t value) {
  if (core_ == nullptr) return ClosedError("counter");
  core_->Add(value);
  return absl::OkStatus();
}

absl::Status RdmCounter::Close() {
  const absl::Status closed = CloseShared(core_, "counter");
  if (closed.ok()) domain_.reset();
  return closed;
}

absl::StatusOr<std::unique_ptr<fabric::Counter>> RdmDomain::OpenCounter() {
  if (core_ == nullptr) return ClosedError("domain");
  return std::make_unique<RdmCounter>(core_);
}

// ---- Endpoints ----

absl::StatusOr<std::unique_ptr<fabric::Endpoint>> RdmDomain::OpenEndpoint(
    const fabric::EndpointOptions& options) {
  if (core_ == nullptr) return ClosedError("domain");
  const absl::Status valid = CheckOptions(options, info_);
  if (!valid.ok()) return valid;
  const auto* send = dynamic_cast<RdmCompletionQueue*>(&options.send_queue->Unwrap());
  const auto* receive = dynamic_cast<RdmCompletionQueue*>(&options.receive_queue->Unwrap());
  const auto* peers = dynamic_cast<RdmAddressVector*>(&options.address_vector->Unwrap());
  const auto ours = [this](const auto* object) {
    return object != nullptr && object->core() != nullptr && object->core()->domain == core_;
  };
  if (!ours(send) || !ours(receive) || !ours(peers)) {
    return absl::InvalidArgumentError(
        "open endpoint: its queues and address vector must be open and of the same domain");
  }
  absl::StatusOr<Counters> counters = CountersOf(options.counters, core_);
  if (!counters.ok()) return counters.status();
  return OpenRdmEndpoint(core_, send->core(), receive->core(), peers->core(),
                         options.receiver_not_ready_retries, *std::move(counters));
}

absl::Status RdmDomain::Close() { return CloseShared(core_, "domain"); }

}  // namespace drydock::sim::rdm
