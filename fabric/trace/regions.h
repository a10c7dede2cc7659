// Which registered region an address lies in, for the drawing of buffers.

#ifndef DRYDOCK_FABRIC_TRACE_REGIONS_H_
#define DRYDOCK_FABRIC_TRACE_REGIONS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace drydock::fabric::trace {

// The open regions of all NICs: a table from keys and addresses to the ids of regions, so that an
// event names the region that an address of a request belongs to. Each NIC chooses its own keys:
// one buffer that several NICs of a machine registered may have one key on all of them. Threads:
// not thread-safe; the recorder's lock covers it.
class Regions {
 public:
  struct Region {
    std::uint32_t id = 0;
    std::uint64_t address = 0;  // of byte 0, as the program knows it
    std::uint64_t length = 0;
  };

  // `local_key`, `remote_key`: how requests name it here and from elsewhere; often the same.
  void Add(std::uint32_t nic, const Region& region, std::uint64_t local_key,
           std::uint64_t remote_key) {
    by_key_[{nic, local_key}].push_back(region);
    if (remote_key != local_key) by_key_[{nic, remote_key}].push_back(region);
  }

  // The region closes. `id` tells it from others with the same keys; an unknown id does nothing.
  void Remove(std::uint32_t nic, std::uint32_t id, std::uint64_t local_key,
              std::uint64_t remote_key) {
    for (const std::uint64_t key : {local_key, remote_key}) {
      const auto found = by_key_.find({nic, key});
      if (found == by_key_.end()) continue;
      std::erase_if(found->second, [id](const Region& region) { return region.id == id; });
      if (found->second.empty()) by_key_.erase(found);
    }
  }

  // The youngest region of `nic` with this key that holds the address; null: there is none. Domains
  // of one NIC may use one key for several. Valid until the next Add or Remove.
  const Region* Find(std::uint32_t nic, std::uint64_t key, std::uint64_t address) const {
    const auto found = by_key_.find({nic, key});
    if (found == by_key_.end()) return nullptr;
    for (auto region = found->second.rbegin(); region != found->second.rend(); ++region) {
      if (address - region->address < region->length) return &*region;
    }
    return nullptr;
  }

 private:
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint64_t>, std::vector<Region>> by_key_;
};

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_REGIONS_H_
