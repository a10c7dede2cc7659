#include "apps/common/network.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "coro/status_macros.h"

namespace apps {

absl::StatusOr<std::unique_ptr<Network>> Network::Open(coro::EventLoop& loop,
                                                       fabric::Fabric& fabric, std::size_t nic) {
  std::unique_ptr<Network> network(new Network());
  ASSIGN_OR_RETURN(network->domain_, fabric.OpenDomain(nic));
  ASSIGN_OR_RETURN(network->peers_, network->domain_->OpenAddressVector());
  const bool can_block = network->nic().capabilities.Has(fabric::Capability::kBlockingWait);
  ASSIGN_OR_RETURN(auto queue, network->domain_->OpenCompletionQueue({.blocking_wait = can_block}));
  network->dispatcher_ =
      std::make_unique<fabric::async::CompletionDispatcher>(loop, std::move(queue));
  ASSIGN_OR_RETURN(network->endpoint_, network->OpenEndpoint());
  return network;
}

absl::StatusOr<std::unique_ptr<fabric::async::AsyncEndpoint>> Network::OpenEndpoint() {
  fabric::CompletionQueue& queue = dispatcher_->queue();
  fabric::EndpointOptions options;
  options.send_queue = &queue;
  options.receive_queue = &queue;
  options.address_vector = peers_.get();
  ASSIGN_OR_RETURN(auto endpoint, domain_->OpenEndpoint(options));
  return std::make_unique<fabric::async::AsyncEndpoint>(*dispatcher_, std::move(endpoint));
}

absl::Status RequireCapabilities(const fabric::NicInfo& nic,
                                 std::span<const fabric::Capability> needed) {
  std::string lacking;
  for (const fabric::CapabilityInfo& row : fabric::CapabilityTable()) {
    const bool is_needed = std::find(needed.begin(), needed.end(), row.capability) != needed.end();
    if (!is_needed || nic.capabilities.Has(row.capability)) continue;
    absl::StrAppend(&lacking, lacking.empty() ? "" : ", ",
                    absl::string_view(row.name.data(), row.name.size()));
  }
  if (lacking.empty()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("NIC ", nic.name, " of ", nic.fabric, " lacks what this needs: ", lacking));
}

}  // namespace apps
