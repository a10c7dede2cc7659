// trn1.32xlarge: eight network cards of 100 Gbit/s, 128 CPUs, 16 Trainium; EFA of the second
// generation. trn2.48xlarge: sixteen of 200 Gbit/s, 192 CPUs, 16 Trainium2; EFA of the third (EC2
// instance types, accelerated computing; EC2 user guide, page efa). The accelerators are no GPUs:
// they are not listed here.

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

Profile Trn1Profile() {
  Profile profile = GenerationProfile(Generation::kEfa2);
  profile.name = "trn1";
  profile.description = "trn1.32xlarge: 8 NICs of 100 Gbit/s, 16 Trainium";
  profile.aliases = {"trn1.32xlarge"};
  profile.unknown = "addresses, PCIe switches and NUMA nodes: all CPUs are on one";
  for (int nic = 0; nic < 8; ++nic) AddNic(profile, kUnknownPlace, 0x50 + nic);
  profile.numa_cpus = {"0-127"};
  return profile;
}

// Buses of the NICs: ofiwg/libfabric pull request 12246, fabtests/pytest/efa/efa_common.py, which
// names the NIC of each accelerator. Two NICs and two accelerators are on one switch
// (kvcache-ai/Mooncake pull request 3888): on which, the buses tell.
Profile Trn2Profile() {
  Profile profile = GenerationProfile(Generation::kEfa3);
  profile.name = "trn2";
  profile.description = "trn2.48xlarge: 16 NICs of 200 Gbit/s, 16 Trainium2";
  profile.aliases = {"trn2.48xlarge"};
  profile.unknown = "ports of the PCIe switches, and NUMA nodes: all CPUs are on one";
  profile.link_gbps = 200;
  const int buses[] = {0x56, 0x6c, 0x82, 0x98, 0xb3, 0xc9, 0xdf, 0xf5};
  for (int group = 0; group < 8; ++group) {
    AddHostBridge(profile);
    for (int nic = 0; nic < 2; ++nic) AddNic(profile, {group, -1}, buses[group] + nic);
  }
  profile.numa_cpus = {"0-191"};
  return profile;
}

}  // namespace drydock::sim
