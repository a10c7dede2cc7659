#include "drydock/sim/rdm/testing/altered_device.h"

#include <deque>
#include <utility>

#include "absl/status/status.h"
#include "drydock/fabric/forwarding.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Completion;
using fabric::ErrorCode;

// EFA's status for a receiver that is not ready (ofiwg/libfabric prov/efa/src/efa_errno.h).
constexpr std::int32_t kReceiverNotReadyStatus = 10;

fabric::NicInfo Altered(fabric::NicInfo info, const Alteration& alteration) {
  for (const fabric::Capability capability : alteration.without) {
    info.capabilities.Remove(capability);
  }
  if (alteration.max_rma_bytes.has_value()) info.limits.max_rma_bytes = *alteration.max_rma_bytes;
  return info;
}

// Completions of sends that were refused, shared by an endpoint and its queue.
using Refusals = std::deque<Completion>;

class AlteredQueue final : public fabric::ForwardingCompletionQueue {
 public:
  AlteredQueue(std::unique_ptr<fabric::CompletionQueue> wrapped, std::shared_ptr<Refusals> refusals)
      : ForwardingCompletionQueue(std::move(wrapped)), refusals_(std::move(refusals)) {}

  fabric::ReadResult Read(std::span<Completion> entries) override {
    fabric::ReadResult result = ForwardingCompletionQueue::Read(entries);
    while (result.count < entries.size() && !refusals_->empty()) {
      entries[result.count++] = refusals_->front();
      refusals_->pop_front();
    }
    return result;
  }

 private:
  std::shared_ptr<Refusals> refusals_;
};

class AlteredEndpoint final : public fabric::ForwardingEndpoint {
 public:
  AlteredEndpoint(std::unique_ptr<fabric::Endpoint> wrapped, const Alteration& alteration,
                  Alarm& alarm, fabric::CapabilitySet capabilities,
                  std::shared_ptr<Refusals> refusals)
      : ForwardingEndpoint(std::move(wrapped)),
        alteration_(alteration),
        alarm_(alarm),
        capabilities_(capabilities),
        refusals_(std::move(refusals)) {}

  fabric::PostResult Send(std::span<const fabric::SendRequest> requests) override {
    fabric::PostResult result;
    for (const fabric::SendRequest& request : requests) {
      if (alteration_.refuses_send && alteration_.refuses_send(request)) {
        refusals_->push_back({.context = request.context,
                              .kind = fabric::OperationKind::kSend,
                              .error = ErrorCode::kReceiverNotReady,
                              .provider_error = kReceiverNotReadyStatus});
        alarm_.WakeAt(alarm_.Now());
      } else {
        result.error = ForwardingEndpoint::Send({&request, 1}).error;
        if (result.error != ErrorCode::kOk) break;
      }
      ++result.accepted;
    }
    return result;
  }
  fabric::PostResult Write(std::span<const fabric::WriteRequest> requests) override {
    if (!capabilities_.Has(fabric::Capability::kRemoteWrite)) return {0, ErrorCode::kUnsupported};
    return ForwardingEndpoint::Write(requests);
  }
  fabric::PostResult Read(std::span<const fabric::ReadRequest> requests) override {
    if (!capabilities_.Has(fabric::Capability::kRemoteRead)) return {0, ErrorCode::kUnsupported};
    return ForwardingEndpoint::Read(requests);
  }

 private:
  const Alteration& alteration_;
  Alarm& alarm_;
  const fabric::CapabilitySet capabilities_;
  std::shared_ptr<Refusals> refusals_;
};

// Its queues and endpoints share one list of refusals: every queue belongs to one endpoint here.
class AlteredDomain final : public fabric::ForwardingDomain {
 public:
  AlteredDomain(std::unique_ptr<fabric::Domain> wrapped, const Alteration& alteration, Alarm& alarm)
      : ForwardingDomain(std::move(wrapped)),
        alteration_(alteration),
        alarm_(alarm),
        info_(Altered(ForwardingDomain::nic(), alteration)) {}

  const fabric::NicInfo& nic() const override { return info_; }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> RegisterMemory(
      const fabric::MemoryRequest& request) override {
    if (alteration_.refuses_registration && alteration_.refuses_registration(request)) {
      return absl::ResourceExhaustedError("register memory: no key is left");
    }
    return ForwardingDomain::RegisterMemory(request);
  }
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> OpenCompletionQueue(
      const fabric::CompletionQueueOptions& options) override {
    auto queue = ForwardingDomain::OpenCompletionQueue(options);
    if (!queue.ok()) return queue.status();
    refusals_ = std::make_shared<Refusals>();
    return std::make_unique<AlteredQueue>(*std::move(queue), refusals_);
  }
  absl::StatusOr<std::unique_ptr<fabric::Endpoint>> OpenEndpoint(
      const fabric::EndpointOptions& options) override {
    auto endpoint = ForwardingDomain::OpenEndpoint(options);
    if (!endpoint.ok()) return endpoint.status();
    return std::make_unique<AlteredEndpoint>(*std::move(endpoint), alteration_, alarm_,
                                             info_.capabilities, refusals_);
  }

 private:
  const Alteration& alteration_;
  Alarm& alarm_;
  const fabric::NicInfo info_;
  std::shared_ptr<Refusals> refusals_;
};

class AlteredFabric final : public fabric::ForwardingFabric {
 public:
  AlteredFabric(std::unique_ptr<fabric::Fabric> wrapped, const Alteration& alteration,
                std::shared_ptr<Alarm> alarm)
      : ForwardingFabric(std::move(wrapped)), alteration_(alteration), alarm_(std::move(alarm)) {
    for (const fabric::NicInfo& nic : ForwardingFabric::nics()) {
      nics_.push_back(Altered(nic, alteration_));
    }
  }

  std::span<const fabric::NicInfo> nics() const override { return nics_; }
  absl::StatusOr<std::unique_ptr<fabric::Domain>> OpenDomain(std::size_t nic) override {
    auto domain = ForwardingFabric::OpenDomain(nic);
    if (!domain.ok()) return domain.status();
    return std::make_unique<AlteredDomain>(*std::move(domain), alteration_, *alarm_);
  }

 private:
  const Alteration alteration_;
  const std::shared_ptr<Alarm> alarm_;
  std::vector<fabric::NicInfo> nics_;
};

}  // namespace

std::unique_ptr<fabric::Fabric> AlterDevice(std::unique_ptr<fabric::Fabric> device,
                                            const Alteration& alteration,
                                            std::shared_ptr<Alarm> alarm) {
  return std::make_unique<AlteredFabric>(std::move(device), alteration, std::move(alarm));
}

}  // namespace drydock::sim::rdm
