// p6-b200.48xlarge and p6-b300.48xlarge. The B200 machine: four PCIe switches, each with two NICs
// and two GPUs. The B300 machine: eight, each with two NICs and one GPU. Recorded by
// aws/aws-ofi-nccl (tests/unit/fixtures/topology/p6-b200 and p6-b300, topology.xml), the first one
// also by ai-dynamo/nixl (test/unit/utils/libfabric/topo/p6-b200.48xl-topo.xml).

#include <chrono>

#include "drydock/sim/profile/families.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

constexpr double kUpstreamGbytesPerSecond = 63.02;  // of a switch, in the captured trees

// The common profile of the two. Nothing here was measured on a p6: the figures are those of p5en.
Profile P6Profile() {
  Profile profile = EfaProfile();
  profile.vendor_device_id = "1d0f:efa3";
  profile.link_gbps = 400;
  profile.device.max_sq_depth = 2048;  // p6-b300: kvcache-ai/Mooncake efa_context.cpp
  profile.device.max_llq_size = 2048 * 64;
  profile.device.inline_buf_size_ex = 80;
  profile.device.max_comp_cntr = 512;  // as p5en, the same source
  profile.duplicate_one_in = 256;
  profile.issue_cost = 380ns;
  profile.dma_gbps = 504;  // 63 GB/s, the link that the captured trees show
  profile.header_bytes = 245;
  profile.host.work = 265ns;
  profile.numa_cpus = {"0-47,96-143", "48-95,144-191"};
  // NCCL's figure for Emerald Rapids (NVIDIA/nccl src/graph/topo.h).
  profile.numa_link_gbytes_per_s = 40;
  return profile;
}

}  // namespace

Profile P6B200Profile() {
  Profile profile = P6Profile();
  profile.name = "p6-b200";
  profile.description = "p6-b200.48xlarge: 8 NICs of 400 Gbit/s, 8 B200";
  profile.aliases = {"p6-b200.48xlarge"};
  profile.host_memory_gbytes_per_s = 222;  // as p5en, the same source
  const GpuModel b200{"NVIDIA B200", "10de:2901"};
  const struct {
    int upstream_bus;
    int first_nic_bus;
    int first_gpu_bus;
  } switches[] = {{0x45, 0x4f, 0x51}, {0x56, 0x60, 0x62}, {0x67, 0x71, 0x75}, {0x7a, 0x84, 0x86}};
  int group = 0;
  for (const auto& buses : switches) {
    const Place place{group, group / 2};
    AddSwitch(profile, buses.upstream_bus, kUpstreamGbytesPerSecond);
    for (int i = 0; i < 2; ++i) AddNic(profile, place, buses.first_nic_bus + i);
    for (int i = 0; i < 2; ++i) AddGpu(profile, b200, place, buses.first_gpu_bus + i);
    ++group;
  }
  return profile;
}

Profile P6B300Profile() {
  Profile profile = P6Profile();
  profile.name = "p6-b300";
  profile.description = "p6-b300.48xlarge: 16 NICs of 400 Gbit/s, 8 B300";
  profile.aliases = {"p6-b300.48xlarge"};
  profile.host_memory_gbytes_per_s = 283;  // as p5en, the same source
  profile.read_gbps = 366;                 // 713 GB/s by all NICs, where they write 752 (the same)
  const GpuModel b300{"NVIDIA B300", "10de:3182"};
  for (int group = 0; group < 8; ++group) {
    const Place place{group, group / 4};
    const int first_bus = 0x4b + 0x0f * group;
    AddSwitch(profile, first_bus + 1, kUpstreamGbytesPerSecond);
    for (int nic = 0; nic < 2; ++nic) AddNic(profile, place, first_bus + 0x0b + nic);
    AddGpu(profile, b300, place, first_bus + 0x0d);
  }
  return profile;
}

}  // namespace drydock::sim
