#include "drydock/sim/driver/sim_fabric.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/sim/driver/sim_domain.h"

namespace drydock::sim {
namespace {

using fabric::Capability;

// Who posts to the device: a program, or a protocol below it.
enum class User { kProgram, kProtocol };

// The remote memory access that a NIC offers.
struct RemoteAccess {
  bool reads;
  bool writes;
};

// The capability bits of the device.
RemoteAccess OfTheDevice(const Profile& profile) {
  return {.reads = profile.device.rdma_read, .writes = profile.device.rdma_write};
}

// Both or neither (ofiwg/libfabric prov/efa/src/efa_prov_info.c: FI_RMA needs both bits).
RemoteAccess OfEfaDirect(const Profile& profile) {
  const bool both = profile.device.rdma_read && profile.device.rdma_write;
  return {.reads = both, .writes = both};
}

// As libfabric's provider works them out from the device's attributes (ofiwg/libfabric
// prov/efa/src/efa_prov_info.c).
fabric::CapabilitySet CapabilitiesOf(const Profile& profile, RemoteAccess access) {
  fabric::CapabilitySet set{
      Capability::kMessages, Capability::kImmediateData, Capability::kMutualInsertion,
      Capability::kInject,   Capability::kSourceAddress, Capability::kSolicitedImmediate,
      Capability::kCounters, Capability::kDatagram,      Capability::kLocalRegistration,
  };
  if (access.reads) set.Add(Capability::kRemoteRead);
  if (access.writes) set.Add(Capability::kRemoteWrite);
  if (profile.device.unsolicited_write_recv) set.Add(Capability::kUnsolicitedImmediate);
  if (profile.device.max_comp_cntr > 0) set.Add(Capability::kRemoteCounts);
  if (profile.device.rnr_retry) set.Add(Capability::kReceiverNotReadyRetry);
  return set;
}

fabric::NicInfo InfoOf(const Profile& profile, const NicProfile& nic, RemoteAccess access) {
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
  const fabric::Limits datagrams = DatagramLimits(profile);
  info.limits.datagram_bytes = datagrams.datagram_bytes;
  info.limits.datagram_prefix_bytes = datagrams.datagram_prefix_bytes;
  if (access.reads || access.writes) {
    info.limits.max_rma_bytes = profile.device.max_rdma_size;
    info.limits.rma_segments = profile.device.max_wr_rdma_sges;
  }
  info.capabilities = CapabilitiesOf(profile, access);
  return info;
}

class SimFabric final : public fabric::Fabric {
 public:
  SimFabric(World& world, Node& node, RemoteAccess access, User user)
      : world_(world),
        node_(node),
        user_(user),
        description_(absl::StrCat("simulated EFA (efa-direct, profile ", node.profile().name,
                                  world.IsVirtual() ? ")" : ", in real time)")) {
    for (const NicProfile& nic : node.profile().nics) {
      nics_.push_back(InfoOf(node.profile(), nic, access));
    }
  }

  std::string_view description() const override { return description_; }
  std::span<const fabric::NicInfo> nics() const override { return nics_; }

  absl::StatusOr<std::unique_ptr<fabric::Domain>> OpenDomain(std::size_t nic) override {
    if (nic >= nics_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("open domain: NIC ", nic, " does not exist, there are ", nics_.size()));
    }
    return SimDomain::Open(world_, node_.nic(nic), nics_[nic], user_ == User::kProtocol);
  }

 private:
  World& world_;
  Node& node_;
  const User user_;
  std::string description_;
  std::vector<fabric::NicInfo> nics_;
};

}  // namespace

std::unique_ptr<fabric::Fabric> OpenSimFabric(World& world, Node& node) {
  return std::make_unique<SimFabric>(world, node, OfEfaDirect(node.profile()), User::kProgram);
}

std::unique_ptr<fabric::Fabric> OpenSimDevice(World& world, Node& node) {
  return std::make_unique<SimFabric>(world, node, OfTheDevice(node.profile()), User::kProtocol);
}

}  // namespace drydock::sim
