// g7e.48xlarge: four network cards, 1600 Gbit/s together, 192 CPUs, eight RTX PRO 6000 Blackwell
// Server Edition (EC2 instance types, accelerated computing; EFA of the fourth generation: EC2 user
// guide, page efa). The GPU's number: `lspci` in bigstack-oss/cubecos issue 312.

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

Profile G7eProfile() {
  Profile profile = GenerationProfile(Generation::kEfa4);
  profile.name = "g7e";
  profile.description = "g7e.48xlarge: 4 NICs of 400 Gbit/s, 8 RTX PRO 6000";
  profile.aliases = {"g7e.48xlarge"};
  profile.unknown = "addresses, PCIe switches and NUMA nodes: all CPUs are on one";
  profile.link_gbps = 400;
  for (int nic = 0; nic < 4; ++nic) AddNic(profile, kUnknownPlace, 0x50 + nic);
  for (int gpu = 0; gpu < 8; ++gpu) {
    AddGpu(profile, {"NVIDIA RTX PRO 6000", "10de:2bb5"}, kUnknownPlace, 0x60 + gpu);
  }
  profile.numa_cpus = {"0-191"};
  return profile;
}

}  // namespace drydock::sim
