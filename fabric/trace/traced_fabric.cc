#include "drydock/fabric/trace/traced_fabric.h"

#include <utility>

#include "drydock/coro/status_macros.h"
#include "drydock/fabric/forwarding.h"
#include "drydock/fabric/trace/traced_endpoint.h"
#include "drydock/fabric/trace/traced_objects.h"
#include "drydock/fabric/trace/traced_session.h"

namespace drydock::fabric::trace {
namespace {

JsonMembers MembersOf(const NicInfo& nic) {
  JsonMembers members;
  members.Text("name", nic.name).Text("provider", nic.provider);
  return members;
}

class TracedDomain final : public ForwardingDomain {
 public:
  TracedDomain(std::unique_ptr<Domain> wrapped, std::shared_ptr<TracedSession> session)
      : ForwardingDomain(std::move(wrapped)),
        session_(std::move(session)),
        name_(nic().name),
        object_(session_, "nic", name_, MembersOf(nic())) {}

  absl::StatusOr<std::unique_ptr<MemoryRegion>> RegisterMemory(
      const MemoryRequest& request) override {
    ASSIGN_OR_RETURN(auto region, ForwardingDomain::RegisterMemory(request));
    return std::make_unique<TracedMemoryRegion>(std::move(region), session_, name_, request);
  }

  absl::StatusOr<std::unique_ptr<CompletionQueue>> OpenCompletionQueue(
      const CompletionQueueOptions& options) override {
    ASSIGN_OR_RETURN(auto queue, ForwardingDomain::OpenCompletionQueue(options));
    return std::make_unique<TracedCompletionQueue>(std::move(queue), session_, name_);
  }

  absl::StatusOr<std::unique_ptr<AddressVector>> OpenAddressVector() override {
    ASSIGN_OR_RETURN(auto vector, ForwardingDomain::OpenAddressVector());
    return std::make_unique<TracedAddressVector>(std::move(vector), session_, name_);
  }

  absl::StatusOr<std::unique_ptr<Endpoint>> OpenEndpoint(const EndpointOptions& options) override {
    ASSIGN_OR_RETURN(auto endpoint, ForwardingDomain::OpenEndpoint(options));
    // The fabric has accepted its parts: they are there.
    const auto* sends = options.send_queue->power<TracedQueue>();
    const auto* receives = options.receive_queue->power<TracedQueue>();
    const auto* peers = options.address_vector->power<TracedVector>();
    const bool ours = sends != nullptr && receives != nullptr && peers != nullptr;
    if (!ours) return endpoint;  // its parts were unwrapped
    return std::make_unique<TracedEndpoint>(std::move(endpoint), session_, name_, options, *sends,
                                            *receives, *peers);
  }

  absl::Status Close() override {
    RETURN_IF_ERROR(ForwardingDomain::Close());
    object_.Closed();
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<TracedSession> session_;
  const std::string name_;
  TracedObject object_;
};

class TracedFabric final : public ForwardingFabric {
 public:
  TracedFabric(std::unique_ptr<Fabric> wrapped, std::shared_ptr<TracedSession> session)
      : ForwardingFabric(std::move(wrapped)), session_(std::move(session)) {}

  absl::StatusOr<std::unique_ptr<Domain>> OpenDomain(std::size_t nic) override {
    ASSIGN_OR_RETURN(auto domain, ForwardingFabric::OpenDomain(nic));
    return std::make_unique<TracedDomain>(std::move(domain), session_);
  }

 private:
  const std::shared_ptr<TracedSession> session_;
};

}  // namespace

std::unique_ptr<Fabric> OpenTracedFabric(std::unique_ptr<Fabric> wrapped,
                                         const TracedFabricOptions& options) {
  if (options.recorder == nullptr) return wrapped;
  auto session = std::make_shared<TracedSession>(*options.recorder, options.node,
                                                 options.device_completes, options.payload);
  return std::make_unique<TracedFabric>(std::move(wrapped), std::move(session));
}

}  // namespace drydock::fabric::trace
