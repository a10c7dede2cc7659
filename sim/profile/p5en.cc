// p5en.48xlarge: four PCIe switches, each with four NICs and two GPUs. Recorded by ai-dynamo/nixl
// (test/unit/utils/libfabric/topo/p5en.48xl-topo.xml) and aws/aws-ofi-nccl
// (tests/unit/fixtures/topology/p5en/topology.xml).

#include <chrono>

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

using namespace std::chrono_literals;

Profile P5enProfile() {
  Profile profile = EfaProfile();
  profile.name = "p5en";
  profile.description = "p5en.48xlarge: 16 NICs of 200 Gbit/s, 8 H200";
  profile.aliases = {"p5en.48xlarge"};
  profile.vendor_device_id = "1d0f:efa2";
  profile.link_gbps = 200;
  const GpuModel h200{"NVIDIA H200", "10de:2335"};
  for (int group = 0; group < 4; ++group) {
    const Place place{group, group / 2};
    const int first_bus = 0x44 + 0x19 * group;
    AddSwitch(profile, first_bus + 1, 63.02);
    for (int nic = 0; nic < 4; ++nic) AddNic(profile, place, first_bus + 0x11 + nic);
    for (int gpu = 0; gpu < 2; ++gpu) AddGpu(profile, h200, place, first_bus + 0x15 + gpu);
  }
  profile.numa_cpus = {"0-47,96-143", "48-95,144-191"};
  // NCCL's figure for Sapphire Rapids (NVIDIA/nccl src/graph/topo.h).
  profile.numa_link_gbytes_per_s = 22;

  DeviceAttributes& device = profile.device;
  device.max_mr_pages = 48 << 20;  // max_mr_size 192 GiB (kvcache-ai/Mooncake pull request 1912)
  // The send queue is not recorded on this machine: the shortest of any.
  device.max_sq_depth = 2048;
  device.max_llq_size = 2048 * 64;
  // "Newer devices" have the 128-byte work request (ofiwg/libfabric pull request 11944); which ones
  // is not said. GPU-initiated transfers use it here (aws/aws-ofi-nccl pull request 1389).
  device.inline_buf_size_ex = 80;
  // Of all types only p5en, p6-b200 and p6-b300 have completion counters (aws/aws-ofi-nccl
  // src/platform-aws.cpp, efa_hw_comp_cntr): at most 512 counters and signals, by its GIN back end.
  device.max_comp_cntr = 512;

  // The device delivers a correct payload twice, and so does not report writes in order
  // (aws/aws-ofi-nccl src/platform-aws.cpp). How often is unknown on hardware.
  profile.duplicate_one_in = 256;
  profile.issue_cost = 380ns;  // 2.6 million writes a second (uccl-project/uccl issue 377)
  profile.dma_gbps = 252;      // 31.5 GB/s, the link that the captured tree shows
  profile.header_bytes = 245;
  // Two NICs of one GPU take in 364 Gbit/s of pages of 64 KiB (arXiv 2510.27656, table 2). The link
  // and PCIe carry more: the limit is the receiving side.
  profile.receive_gbps = 186;
  // All 16 NICs read 274 to 308 GB/s and write 337 to 347 (kvcache-ai/Mooncake
  // docs/source/design/transfer-engine/efa_transport.md): four fifths, and a little more.
  profile.read_gbps = 150;
  // 31 to 35 us for one write, of 64 KiB to 1 MiB, less the time on the link (the same table).
  profile.one_way = DelayModel{.fixed = 11us, .jitter = 3us, .tail_one_in = 1024, .tail = 60us};
  profile.path_spread = 2us;
  // 2.1 million paged writes a second of one thread, 0.45 us each (the same, table 2 and ablation).
  profile.host.work = 265ns;
  // Between host memories (kvcache-ai/Mooncake
  // docs/source/design/transfer-engine/efa_transport.md).
  profile.host_memory_gbytes_per_s = 213;
  return profile;
}

}  // namespace drydock::sim
