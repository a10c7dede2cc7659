// A fabric whose objects live in another process: every call is made over there. What a test does
// with two nodes of one process it does with two processes.
//
//   FarFabric target([] { return OpenLibfabric("efa").value().release(); });
//
// Memory that is registered with it, or that its requests name, must be of shared(): both processes
// have it at the same address. Bytes of injected requests are carried over.

#ifndef DRYDOCK_TESTING_TWO_PROCESSES_FAR_FABRIC_H_
#define DRYDOCK_TESTING_TWO_PROCESSES_FAR_FABRIC_H_

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/fabric.h"
#include "drydock/testing/two_processes/other_process.h"

namespace drydock::two_processes {

// Not thread-safe. Its objects die before it. It begins the other process, and ends it. Powers:
// TaggedMessages, Atomics and Cancel of endpoints, ErrorDetails of queues, where the fabric over
// there has them; no BlockingWait.
class FarFabric final : public fabric::Fabric {
 public:
  // `open` runs in a fresh process; the fabric that it returns is deleted there. REQUIRES: no other
  // FarFabric is there; `open` returns one.
  explicit FarFabric(fabric::Fabric* (*open)());
  ~FarFabric() override;

  std::pmr::memory_resource& shared() { return process_.shared(); }

  std::string_view description() const override { return description_; }
  std::span<const fabric::NicInfo> nics() const override { return nics_; }
  absl::StatusOr<std::unique_ptr<fabric::Domain>> OpenDomain(std::size_t nic) override;

 private:
  OtherProcess& process_;
  fabric::Fabric* far_ = nullptr;  // over there, as all that is called far
  std::string description_;
  std::vector<fabric::NicInfo> nics_;
};

}  // namespace drydock::two_processes

#endif  // DRYDOCK_TESTING_TWO_PROCESSES_FAR_FABRIC_H_
