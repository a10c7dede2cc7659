#include "apps/common/network.h"

#include <utility>

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
  fabric::CompletionQueue& opened = network->dispatcher_->queue();
  ASSIGN_OR_RETURN(auto endpoint,
                   network->domain_->OpenEndpoint({.send_queue = &opened,
                                                   .receive_queue = &opened,
                                                   .address_vector = network->peers_.get()}));
  network->endpoint_ =
      std::make_unique<fabric::async::AsyncEndpoint>(*network->dispatcher_, std::move(endpoint));
  return network;
}

}  // namespace apps
