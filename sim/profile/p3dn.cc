// p3dn.24xlarge: one NIC of 100 Gbit/s, 96 CPUs, eight V100 of 32 GB (EC2 instance types,
// accelerated computing; EFA of the first generation, without RDMA: EC2 user guide, page efa). No
// GPUDirect (aws/aws-ofi-nccl src/platform-aws.cpp). The GPU's number: pci.ids, GV100GL, V100 SXM2
// 32GB.

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

Profile P3dnProfile() {
  Profile profile = GenerationProfile(Generation::kEfa1);
  profile.name = "p3dn";
  profile.description = "p3dn.24xlarge: 1 NIC of 100 Gbit/s, 8 V100, no RDMA";
  profile.aliases = {"p3dn.24xlarge"};
  profile.unknown = "addresses, PCIe switches and NUMA nodes: all CPUs are on one";
  AddNic(profile, kUnknownPlace, 0x00, 0x06);
  for (int gpu = 0; gpu < 8; ++gpu) {
    AddGpu(profile, {"NVIDIA V100", "10de:1db5"}, kUnknownPlace, 0x00, 0x16 + gpu);
  }
  profile.numa_cpus = {"0-95"};
  return profile;
}

}  // namespace drydock::sim
