// All machines of a simulated world write to each other: machine m to m + 1, then to m + 2, and so
// on around the ring, each NIC to the NIC of its number. What a large world costs, and how fast its
// events are, is measured on it.

#ifndef DRYDOCK_TESTING_BENCHMARKS_EXCHANGE_H_
#define DRYDOCK_TESTING_BENCHMARKS_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/address_vector.h"
#include "drydock/fabric/completion_queue.h"
#include "drydock/fabric/domain.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"

namespace drydock::bench {

// In virtual time, all checks on. Not thread-safe.
class Exchange {
 public:
  // Opens an endpoint on every NIC of that many machines. `bytes`: of each write. The profile
  // outlives the exchange. Errors: those of the fabric.
  static absl::StatusOr<std::unique_ptr<Exchange>> Open(const sim::Profile& profile,
                                                        std::size_t machines, std::size_t bytes);

  // Every NIC inserts the address of the one of its number `distance` machines further on, and that
  // one inserts its own. REQUIRES: 0 < distance < machines; each distance once, and before Write.
  absl::Status Introduce(std::size_t distance);
  // One round: every NIC writes that far, and all completions are read. kInternal: a write failed,
  // or did not complete within a second of virtual time.
  absl::Status Write(std::size_t distance);

  std::size_t machines() const { return machines_.size(); }
  std::size_t nics() const { return machines_.size() * machines_.front().ends.size(); }
  const sim::World& world() const { return world_; }

 private:
  // A NIC and what was opened on it. Members die in reverse order.
  struct End : fabric::OpenedNic {
    std::unique_ptr<fabric::MemoryRegion> region;
    std::vector<fabric::Peer> targets;  // index = distance
  };
  struct Machine {
    std::unique_ptr<fabric::Fabric> fabric;
    std::vector<std::byte> memory;  // of each NIC: what it sends, and where it is written to
    std::vector<End> ends;
  };

  Exchange(const sim::Profile& profile, std::size_t bytes)
      : bytes_(bytes), world_(/*seed=*/1, profile) {}
  absl::Status AddMachine(std::size_t number);
  absl::Status Open(Machine& machine, std::size_t nic);
  Machine& Behind(std::size_t machine, std::size_t distance) {
    return machines_[(machine + distance) % machines_.size()];
  }
  absl::Status Post(std::size_t distance);
  // Reads what has completed; returns how many.
  absl::StatusOr<std::size_t> Collect();

  const std::size_t bytes_;
  sim::World world_;
  std::vector<Machine> machines_;
};

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_EXCHANGE_H_
