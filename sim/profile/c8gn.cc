// c8gn.48xlarge: two network cards, 600 Gbit/s together, 192 CPUs of one thread each (EC2 instance
// types, compute optimized; EFA of the fourth generation: EC2 user guide, page efa).

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

Profile C8gnProfile() {
  Profile profile = GenerationProfile(Generation::kEfa4);
  profile.name = "c8gn";
  profile.description = "c8gn.48xlarge: 2 NICs of 300 Gbit/s, no GPU";
  profile.aliases = {"c8gn.48xlarge"};
  profile.unknown = "addresses, PCIe switches and NUMA nodes: all CPUs are on one";
  profile.link_gbps = 300;
  for (int nic = 0; nic < 2; ++nic) AddNic(profile, kUnknownPlace, 0x50 + nic);
  profile.numa_cpus = {"0-191"};
  return profile;
}

}  // namespace drydock::sim
