#include "drydock/fabric/faults/faulty_fabric.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/faults/faulty_endpoint.h"
#include "drydock/fabric/faults/faulty_objects.h"

namespace drydock::fabric::faults {
namespace {

class FaultyDomain final : public ForwardingDomain {
 public:
  FaultyDomain(std::unique_ptr<Domain> wrapped, std::shared_ptr<Session> session)
      : ForwardingDomain(std::move(wrapped)), session_(std::move(session)) {}

  absl::StatusOr<std::unique_ptr<MemoryRegion>> RegisterMemory(
      const MemoryRequest& request) override {
    RETURN_IF_ERROR(Ask(Point::kRegisterMemory, "register memory"));
    return ForwardingDomain::RegisterMemory(request);
  }

  absl::StatusOr<std::unique_ptr<CompletionQueue>> OpenCompletionQueue(
      const CompletionQueueOptions& options) override {
    RETURN_IF_ERROR(Ask(Point::kOpenCompletionQueue, "open completion queue"));
    ASSIGN_OR_RETURN(auto queue, ForwardingDomain::OpenCompletionQueue(options));
    return std::make_unique<FaultyCompletionQueue>(
        std::move(queue), std::make_shared<QueueCore>(session_, nic().name));
  }

  absl::StatusOr<std::unique_ptr<AddressVector>> OpenAddressVector() override {
    RETURN_IF_ERROR(Ask(Point::kOpenAddressVector, "open address vector"));
    ASSIGN_OR_RETURN(auto vector, ForwardingDomain::OpenAddressVector());
    return std::make_unique<FaultyAddressVector>(std::move(vector), session_, nic().name);
  }

  absl::StatusOr<std::unique_ptr<Counter>> OpenCounter() override {
    RETURN_IF_ERROR(Ask(Point::kOpenCounter, "open counter"));
    return ForwardingDomain::OpenCounter();
  }

  absl::StatusOr<std::unique_ptr<Endpoint>> OpenEndpoint(const EndpointOptions& options) override {
    RETURN_IF_ERROR(Ask(Point::kOpenEndpoint, "open endpoint"));
    ASSIGN_OR_RETURN(auto endpoint, ForwardingDomain::OpenEndpoint(options));
    // The fabric has accepted its parts: they are there.
    auto* sends = options.send_queue->power<QueueCore>();
    auto* receives = options.receive_queue->power<QueueCore>();
    auto* peers = options.address_vector->power<PeerDirectory>();
    const bool ours = sends != nullptr && receives != nullptr && peers != nullptr;
    if (!ours) return endpoint;  // its parts were unwrapped: nothing can be faulted
    return std::make_unique<FaultyEndpoint>(std::move(endpoint), session_,
                                            sends->shared_from_this(), receives->shared_from_this(),
                                            peers->shared_from_this(), nic().name);
  }

 private:
  // Whether a rule lets it fail.
  absl::Status Ask(Point point, absl::string_view what) {
    if (!session_->Concerns(point)) return absl::OkStatus();
    EventView view;
    view.nic = nic().name;
    const Firing firing = session_->Decide(point, view);
    return firing ? ErrorOf(firing, what) : absl::OkStatus();
  }

  const std::shared_ptr<Session> session_;
};

class FaultyFabric final : public ForwardingFabric {
 public:
  FaultyFabric(std::unique_ptr<Fabric> wrapped, std::shared_ptr<Session> session)
      : ForwardingFabric(std::move(wrapped)), session_(std::move(session)) {}

  absl::StatusOr<std::unique_ptr<Domain>> OpenDomain(std::size_t nic) override {
    EventView view;
    if (nic < nics().size()) view.nic = nics()[nic].name;
    if (const Firing firing = session_->Decide(Point::kOpenDomain, view)) {
      return ErrorOf(firing, "open domain");
    }
    ASSIGN_OR_RETURN(auto domain, ForwardingFabric::OpenDomain(nic));
    return std::make_unique<FaultyDomain>(std::move(domain), session_);
  }

 private:
  const std::shared_ptr<Session> session_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Fabric>> OpenFaultyFabric(std::unique_ptr<Fabric> wrapped,
                                                         const FaultyFabricOptions& options) {
  DD_CHECK(wrapped != nullptr && options.engine != nullptr && options.clock != nullptr,
           "a faulty fabric needs a fabric, an engine and a clock");
  std::size_t index = 0;
  for (const RuleReport& report : options.engine->Report()) {
    const FaultRule& rule = options.engine->plan().rules[index];
    const std::int64_t placed = rule.parameters.placed_percent;
    if (report.layer == Layer::kDecorator && placed != 0 && placed != 100) {
      return absl::UnimplementedError(
          absl::StrCat(RuleLabel(index, rule.name), ": parameters.placed_percent is ", placed,
                       ", which needs the simulated NIC: above a fabric it is 0 or 100"));
    }
    ++index;
  }
  const coro::Time start = options.began.has_value() ? *options.began : options.clock->Now();
  auto session = std::make_shared<Session>(options.engine, *options.clock, options.wake_at, start);
  return std::make_unique<FaultyFabric>(std::move(wrapped), std::move(session));
}

}  // namespace drydock::fabric::faults
