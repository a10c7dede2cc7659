// The NICs of a world, by their index and by their GID.

#ifndef DRYDOCK_SIM_DEVICE_NIC_TABLE_H_
#define DRYDOCK_SIM_DEVICE_NIC_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/surroundings.h"
#include "drydock/sim/efa_address.h"

namespace drydock::sim {

// NICs of other processes (sim/hosts) are in it, too, once something was sent to them. It owns none
// of them: each outlives the table's use. Not thread-safe.
class NicTable final : public NicDirectory {
 public:
  // Also the index of the NIC that is entered next.
  std::size_t size() const { return nics_.size(); }
  // REQUIRES: index < size().
  NicState& operator[](std::uint32_t index) { return *nics_[index]; }
  const NicState& operator[](std::uint32_t index) const { return *nics_[index]; }

  // REQUIRES: its index is size(), and no NIC of the table has its GID.
  void Enter(NicState& nic);

  // Asked from now on for NICs that the table lacks; null: nobody is. Outlives the table's use.
  void UseNeighbours(NicDirectory* neighbours) { neighbours_ = neighbours; }

  NicState* Find(const Gid& gid) override;

 private:
  std::vector<NicState*> nics_;                 // index = NicState::index()
  absl::flat_hash_map<Gid, NicState*> by_gid_;  // only looked up
  NicDirectory* neighbours_ = nullptr;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_NIC_TABLE_H_
