// The registered memory of one domain as the software sees it. Where a packet's bytes are copied by
// the CPU, no NIC checks keys, ranges and rights: the registry does.

#ifndef DRYDOCK_SIM_RDM_MEMORY_REGISTRY_H_
#define DRYDOCK_SIM_RDM_MEMORY_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/domain.h"
#include "drydock/fabric/memory.h"

namespace drydock::sim::rdm {

// Not thread-safe: belongs to its domain.
class MemoryRegistry {
 public:
  // `most` regions at the same time. `device` outlives the registry. Rights that a device cannot
  // give are software's business: packets are copied by the CPU.
  MemoryRegistry(fabric::Domain& device, std::uint64_t most) : device_(device), most_(most) {}

  // A registered region. Owned by the registry until Remove.
  struct Region {
    std::unique_ptr<fabric::MemoryRegion> device;
    fabric::Access access;  // as the program asked: the device gets only what it can use
    // Registrations of parts of it that the software made for itself: they end with it.
    std::vector<std::weak_ptr<fabric::MemoryRegion>> borrowed;
  };

  // kResourceExhausted: there are `most`. Other errors are the device's.
  absl::StatusOr<Region*> Add(const fabric::MemoryRequest& request);
  // From here on nothing of the region may be touched, by the device either. REQUIRES: of this
  // registry.
  void Remove(Region* region);

  // True when the whole buffer lies within the live region of its key, with these rights; of our
  // own rights only those count that the device knows (sim/memory/device_rights.h). An empty
  // buffer needs no region.
  bool Allows(const fabric::LocalBuffer& buffer, fabric::Access access) const;

  // Our buffer that a peer names by `place`; empty when the key is unknown, or the range or the
  // right is not given. Safe for any input.
  std::optional<fabric::LocalBuffer> FindRemote(fabric::RemoteBuffer place,
                                                std::uint64_t length_bytes,
                                                fabric::Access access) const;

  // Registers a part of a region once more, with rights that the program did not give to its peers:
  // so that a peer can read this message, or we can read into this receive, for as long as the
  // result is held. Null when `buffer` is in no live region, or the device has no key left.
  std::shared_ptr<fabric::MemoryRegion> Borrow(const fabric::LocalBuffer& buffer,
                                               fabric::Access access);

  // Counts removals: code that relies on a region looks again when this has changed.
  std::uint64_t removals() const { return removals_; }

 private:
  Region* Find(const fabric::LocalBuffer& buffer) const;

  fabric::Domain& device_;
  std::uint64_t most_;
  std::uint64_t removals_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Region>> by_local_key_;
  std::map<std::uint64_t, Region*> by_remote_key_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_MEMORY_REGISTRY_H_
