#include "sim/sim_fabric.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sim/sim_domain.h"

namespace sim {
namespace {

using fabric::Capability;

fabric::NicInfo InfoOf(const Profile& profile, const NicProfile& nic) {
  fabric::NicInfo info;
  info.name = nic.name;
  info.domain = nic.name + "-rdm";
  info.provider = "sim";
  info.fabric = "efa-direct";
  info.pci_address = nic.pci_address;
  info.vendor_device_id = profile.vendor_device_id;
  info.address_format = "FI_ADDR_EFA";
  info.numa_node = nic.numa_node;
  info.link_gbps = profile.link_gbps;
  info.link_state = fabric::LinkState::kUp;
  info.limits = profile.limits;
  info.capabilities = {
      Capability::kMessages,
      Capability::kRemoteWrite,
      Capability::kRemoteRead,
      Capability::kImmediateData,
      Capability::kUnsolicitedImmediate,
      Capability::kRemoteErrors,
      Capability::kClosedPeerErrors,
      Capability::kRemoteWriteLength,
      Capability::kSourceTruncation,
      Capability::kMutualInsertion,
      Capability::kVirtualTime,
  };
  return info;
}

class SimFabric final : public fabric::Fabric {
 public:
  SimFabric(World& world, Node& node)
      : world_(world),
        node_(node),
        description_(
            absl::StrCat("simulated EFA (efa-direct, profile ", world.profile().name, ")")) {
    for (const NicProfile& nic : world.profile().nics)
      nics_.push_back(InfoOf(world.profile(), nic));
  }

  std::string_view description() const override { return description_; }
  std::span<const fabric::NicInfo> nics() const override { return nics_; }

  absl::StatusOr<std::unique_ptr<fabric::Domain>> OpenDomain(std::size_t nic) override {
    if (nic >= nics_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("open domain: NIC ", nic, " does not exist, there are ", nics_.size()));
    }
    return std::make_unique<SimDomain>(world_, node_.nic(nic), nics_[nic]);
  }

 private:
  World& world_;
  Node& node_;
  std::string description_;
  std::vector<fabric::NicInfo> nics_;
};

}  // namespace

std::unique_ptr<fabric::Fabric> OpenSimFabric(World& world, Node& node) {
  return std::make_unique<SimFabric>(world, node);
}

}  // namespace sim
