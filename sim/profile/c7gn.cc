// c7gn.16xlarge: one NIC of 200 Gbit/s, 64 CPUs of one thread each (EC2 instance types, compute
// optimized). EFA of the third generation; it is one of the few such types that have RDMA read and
// no RDMA write (EC2 user guide, page efa).

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

Profile C7gnProfile() {
  Profile profile = GenerationProfile(Generation::kEfa3);
  profile.name = "c7gn";
  profile.description = "c7gn.16xlarge: 1 NIC of 200 Gbit/s, no GPU, no RDMA write";
  profile.aliases = {"c7gn.16xlarge"};
  profile.unknown = "address of the NIC, NUMA nodes: all CPUs are on one";
  profile.link_gbps = 200;
  profile.device.rdma_write = false;
  profile.device.unsolicited_write_recv = false;  // there is nothing to receive
  AddNic(profile, kUnknownPlace, 0x00, 0x06);
  profile.numa_cpus = {"0-63"};
  return profile;
}

}  // namespace drydock::sim
