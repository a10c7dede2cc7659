// g5.48xlarge: one NIC of 100 Gbit/s, 192 CPUs, eight A10G (EC2 instance types, accelerated
// computing; EFA of the first generation, without RDMA: EC2 user guide, page efa). Addresses and
// NUMA nodes of the GPUs, which are all on bus 0: aws/aws-ofi-nccl topology/g5.48xl-topo.xml. No
// GPUDirect (its src/platform-aws.cpp). The GPU's number: pci.ids, GA102GL, A10G.

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

Profile G5Profile() {
  Profile profile = GenerationProfile(Generation::kEfa1);
  profile.name = "g5";
  profile.description = "g5.48xlarge: 1 NIC of 100 Gbit/s, 8 A10G, no RDMA";
  profile.aliases = {"g5.48xlarge"};
  profile.unknown = "address and NUMA node of the NIC";
  AddNic(profile, kUnknownPlace, 0x00, 0x06);
  for (int gpu = 0; gpu < 8; ++gpu) {
    AddGpu(profile, {"NVIDIA A10G", "10de:2237"}, {-1, gpu / 4}, 0x00, 0x16 + gpu);
  }
  // 96 cores with two threads each, numbered as on other machines of two nodes.
  profile.numa_cpus = {"0-47,96-143", "48-95,144-191"};
  // NCCL's figure for AMD (NVIDIA/nccl src/graph/topo.h).
  profile.numa_link_gbytes_per_s = 16;
  return profile;
}

}  // namespace drydock::sim
