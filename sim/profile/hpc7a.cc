// hpc7a.96xlarge: two network cards, 300 Gbit/s together, 192 CPUs of one thread each (EC2 instance
// types, high-performance computing; EFA of the second generation: EC2 user guide, page efa).

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

Profile Hpc7aProfile() {
  Profile profile = GenerationProfile(Generation::kEfa2);
  profile.name = "hpc7a";
  profile.description = "hpc7a.96xlarge: 2 NICs of 150 Gbit/s, no GPU";
  profile.aliases = {"hpc7a.96xlarge"};
  profile.unknown = "addresses, PCIe switches and NUMA nodes: all CPUs are on one";
  profile.link_gbps = 150;
  profile.dma_gbps = 252;  // unknown: the next link above that of the wire
  for (int nic = 0; nic < 2; ++nic) AddNic(profile, kUnknownPlace, 0x50 + nic);
  profile.numa_cpus = {"0-191"};
  return profile;
}

}  // namespace drydock::sim
