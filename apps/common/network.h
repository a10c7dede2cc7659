// One NIC, opened for asynchronous use: what the seed documents call Network.

#ifndef APPS_COMMON_NETWORK_H_
#define APPS_COMMON_NETWORK_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coro/event_loop.h"
#include "fabric/async/async_endpoint.h"
#include "fabric/async/completion_dispatcher.h"
#include "fabric/async/registered_buffer.h"
#include "fabric/fabric.h"

namespace apps {

// Domain, completion queue, address vector and endpoint of one NIC, on one loop.
// Not thread-safe. Dies before the loop and the fabric, and after every coroutine that uses it.
class Network {
 public:
  // Opens fabric.nics()[nic]. The queue can block where the NIC's can, so that a program that waits
  // uses no CPU.
  static absl::StatusOr<std::unique_ptr<Network>> Open(coro::EventLoop& loop,
                                                       fabric::Fabric& fabric, std::size_t nic);

  coro::EventLoop& loop() { return dispatcher_->loop(); }
  const fabric::NicInfo& nic() const { return domain_->nic(); }
  fabric::Domain& domain() { return *domain_; }
  fabric::AddressVector& peers() { return *peers_; }
  fabric::async::CompletionDispatcher& dispatcher() { return *dispatcher_; }
  fabric::async::AsyncEndpoint& endpoint() { return *endpoint_; }

  // Another endpoint of the same NIC, with the same completion queue and peers. Dies before the
  // network.
  absl::StatusOr<std::unique_ptr<fabric::async::AsyncEndpoint>> OpenEndpoint();

  absl::StatusOr<fabric::async::BufferRef> Allocate(std::size_t length_bytes) {
    return fabric::async::AllocateBuffer(*domain_, length_bytes);
  }
  // The same for memory that the caller has, and keeps until the network is gone.
  absl::StatusOr<fabric::async::BufferRef> Register(std::span<std::byte> memory);

 private:
  Network() = default;

  std::unique_ptr<fabric::Domain> domain_;
  std::unique_ptr<fabric::AddressVector> peers_;
  std::unique_ptr<fabric::async::CompletionDispatcher> dispatcher_;
  std::unique_ptr<fabric::async::AsyncEndpoint> endpoint_;
};

// Index of the NIC called `name` (empty: the first). kNotFound lists the names.
absl::StatusOr<std::size_t> FindNic(const fabric::Fabric& fabric, const std::string& name);

// kUnimplemented, naming the NIC, what it lacks, and the flag that helps where one does.
absl::Status RequireCapabilities(const fabric::NicInfo& nic,
                                 std::span<const fabric::Capability> needed);

}  // namespace apps

#endif  // APPS_COMMON_NETWORK_H_
