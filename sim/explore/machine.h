// One machine of a trial, opened for coroutines: what a scenario's program runs on.

#ifndef SIM_EXPLORE_MACHINE_H_
#define SIM_EXPLORE_MACHINE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coro/event_loop.h"
#include "fabric/async/async_endpoint.h"
#include "fabric/async/completion_dispatcher.h"
#include "fabric/async/registered_buffer.h"
#include "fabric/fabric.h"
#include "sim/explore/trial.h"

namespace sim::explore {

// Its first NIC: domain, queue, address vector and endpoint. Not thread-safe. Dies before the loop
// and the trial, and after every coroutine that uses it.
class Machine {
 public:
  // Errors: whatever the trial's faults let fail.
  static absl::StatusOr<std::unique_ptr<Machine>> Open(Trial& trial, coro::EventLoop& loop,
                                                       std::string name);
  // `count` machines, each of which knows all the others.
  static absl::StatusOr<std::vector<std::unique_ptr<Machine>>> OpenAll(Trial& trial,
                                                                       coro::EventLoop& loop,
                                                                       std::size_t count);

  fabric::async::AsyncEndpoint& endpoint() { return *endpoint_; }
  fabric::async::CompletionDispatcher& dispatcher() { return *dispatcher_; }
  // Machine `index` of OpenAll. REQUIRES: not this one itself.
  fabric::Peer peer(std::size_t index) const { return peers_[index]; }

  absl::StatusOr<fabric::async::BufferRef> Allocate(std::size_t length_bytes) {
    return fabric::async::AllocateBuffer(*domain_, length_bytes);
  }

 private:
  Machine() = default;

  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<fabric::Domain> domain_;
  std::unique_ptr<fabric::AddressVector> addresses_;
  std::unique_ptr<fabric::async::CompletionDispatcher> dispatcher_;
  std::unique_ptr<fabric::async::AsyncEndpoint> endpoint_;
  std::vector<fabric::Peer> peers_;  // index: number of the machine
};

}  // namespace sim::explore

#endif  // SIM_EXPLORE_MACHINE_H_
