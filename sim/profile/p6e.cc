// p6e-gb200.36xlarge, one machine of an UltraServer: four PCIe switches with two NICs and one
// GPU each, and four with two NICs, which reach a GPU by way of the processor. Recorded by
// aws/aws-ofi-nccl (tests/unit/fixtures/topology/p6e-gb200/topology.xml, tests/unit/topo_fixture.cpp).
// It shows devices of 0xefa3, where the EC2 user guide, page efa, says the third generation.

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

Profile P6eGb200Profile() {
  Profile profile = GenerationProfile(Generation::kEfa4);
  profile.name = "p6e-gb200";
  profile.description = "p6e-gb200.36xlarge: 16 NICs of 200 Gbit/s, 4 GB200";
  profile.aliases = {"p6e-gb200.36xlarge"};
  // Two NICs are one card, which carries 400 Gbit/s; of the cards of one GPU together no more
  // (EC2 user guide, page efa-acc-inst-types). Here each NIC always has its half.
  profile.link_gbps = 200;
  profile.dma_gbps = 252;  // 31.5 GB/s, the slower one of the links that the captured tree shows

  struct Switch {
    int upstream_bus;
    int first_nic;  // the second is on the next bus, a GPU on the one behind it
    bool gpu;
    double upstream_gbytes_per_s;  // 0 where the tree shows less than one NIC needs
  };
  const Switch switches[] = {{0x25, 0x27, true, 0}, {0x30, 0x36, false, 63.02},
                             {0x3b, 0x3d, true, 0}, {0x46, 0x4c, false, 63.02},
                             {0x98, 0x9a, true, 0}, {0xa3, 0xa9, false, 63.02},
                             {0xae, 0xb0, true, 0}, {0xb9, 0xbf, false, 63.02}};
  int number = 0;
  for (const Switch& found : switches) {
    const Place place{number, number / 4};
    AddSwitch(profile, found.upstream_bus, found.upstream_gbytes_per_s);
    for (int nic = 0; nic < 2; ++nic) AddNic(profile, place, found.first_nic + nic);
    if (found.gpu) AddGpu(profile, {"NVIDIA GB200", "10de:2941"}, place, found.first_nic + 2);
    ++number;
  }
  profile.numa_cpus = {"0-71", "72-143"};  // Grace has one thread for each core
  return profile;
}

}  // namespace drydock::sim
