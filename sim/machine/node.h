// One machine of a simulated world, with the NICs of its profile.

#ifndef DRYDOCK_SIM_MACHINE_NODE_H_
#define DRYDOCK_SIM_MACHINE_NODE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drydock/sim/device/nic.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

// Belongs to its world. The profile outlives it.
class Node {
 public:
  Node(std::string name, const Profile& profile, std::vector<std::unique_ptr<Nic>> nics)
      : name_(std::move(name)), profile_(profile), nics_(std::move(nics)) {}

  const std::string& name() const { return name_; }
  const Profile& profile() const { return profile_; }
  std::size_t nic_count() const { return nics_.size(); }
  Nic& nic(std::size_t index) const { return *nics_[index]; }

  // The machine dies: its NICs fall silent, for good. Its program may go on calling, to no effect.
  void Kill() {
    for (const auto& nic : nics_) nic->Kill();
  }

  // The machine's NICs restart: see Nic::Reset.
  void Reset() {
    for (const auto& nic : nics_) nic->Reset();
  }

 private:
  const std::string name_;
  const Profile& profile_;
  const std::vector<std::unique_ptr<Nic>> nics_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_MACHINE_NODE_H_
