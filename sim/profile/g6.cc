// g6.48xlarge: one NIC of 100 Gbit/s, 192 CPUs, eight L4 (EC2 instance types, accelerated computing;
// EFA of the second generation, with RDMA read and write: EC2 user guide, page efa). The GPU's
// number: pci.ids, AD104GL, L4.

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

Profile G6Profile() {
  Profile profile = GenerationProfile(Generation::kEfa2);
  profile.name = "g6";
  profile.description = "g6.48xlarge: 1 NIC of 100 Gbit/s, 8 L4";
  profile.aliases = {"g6.48xlarge"};
  profile.unknown = "addresses, PCIe switches and NUMA nodes: all CPUs are on one";
  AddNic(profile, kUnknownPlace, 0x4f);
  for (int gpu = 0; gpu < 8; ++gpu) {
    AddGpu(profile, {"NVIDIA L4", "10de:27b8"}, kUnknownPlace, 0x60 + gpu);
  }
  profile.numa_cpus = {"0-191"};
  return profile;
}

}  // namespace drydock::sim
