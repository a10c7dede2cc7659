// c5n.18xlarge: one NIC of 100 Gbit/s, 72 CPUs, no GPU (EC2 instance types, compute optimized; EFA
// of the first generation, without RDMA: EC2 user guide, page efa). The NIC is device 6 of bus 0:
// `lspci` in aws/aws-parallelcluster pull request 1320, and `fi_info` of many users, rdmap0s6.

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

Profile C5nProfile() {
  Profile profile = GenerationProfile(Generation::kEfa1);
  profile.name = "c5n";
  profile.description = "c5n.18xlarge: 1 NIC of 100 Gbit/s, no GPU, no RDMA";
  profile.aliases = {"c5n.18xlarge"};
  profile.unknown = "NUMA nodes: all CPUs are on one";
  AddNic(profile, kUnknownPlace, 0x00, 6);
  profile.numa_cpus = {"0-71"};
  return profile;
}

}  // namespace drydock::sim
