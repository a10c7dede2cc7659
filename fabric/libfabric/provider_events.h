// Errors that belong to no request: libfabric's provider `efa` puts them into an event queue, and
// ends the program where an endpoint has none (ofiwg/libfabric prov/efa/src/efa_eq.h). A peer's bad
// request is such an error.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_PROVIDER_EVENTS_H_
#define DRYDOCK_FABRIC_LIBFABRIC_PROVIDER_EVENTS_H_

#include <rdma/fi_eq.h>

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "drydock/fabric/libfabric/handle.h"

namespace drydock::fabric::libfabric {

// One for each domain that needs it. Thread-safe but for Open and Bind.
class ProviderEvents {
 public:
  ProviderEvents() = default;

  // Errors: those of fi_eq_open.
  absl::Status Open(Api& api, fid_fabric* fabric);
  // Returns 0, or the library's error. Does nothing when it was not opened. REQUIRES: the endpoint
  // is not enabled.
  int Bind(Api& api, fid_ep* endpoint) const;

  // To be called often: now and then it takes the events that have come, so that the queue never
  // fills up. The first error is printed on standard error, in one line; the others are counted.
  void Look() {
    if (!queue_) return;
    if (looks_.fetch_add(1, std::memory_order_relaxed) % kEvery == 0) Take();
  }
  std::uint64_t errors() const { return errors_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kEvery = 64;

  void Take();

  Handle<fid_eq> queue_;
  std::atomic<std::uint32_t> looks_{0};
  std::atomic<std::uint64_t> errors_{0};
};

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_PROVIDER_EVENTS_H_
