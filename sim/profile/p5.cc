// p5.48xlarge and p5e.48xlarge: eight PCIe switches, each with four NICs and one GPU. The bus range
// of a switch starts at 0x44 + 0x11 * switch; its upstream port is on the next bus, its NICs are
// 0x0b to 0x0e above the start, its GPU 0x0f. Recorded by abcdabcd987/libfabric-efa-demo
// (data/lspci.txt, data/fi_info.yaml) and by ai-dynamo/nixl
// (test/unit/utils/libfabric/topo/p5.48xl-topo.xml: NUMA nodes, link speeds). p5e has H200 in the
// same places. There is no recording of a p5.4xlarge.

#include <chrono>

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

using namespace std::chrono_literals;

namespace {

GpuModel H100() { return {"NVIDIA H100", "10de:2330"}; }
GpuModel H200() { return {"NVIDIA H200", "10de:2335"}; }

// How the device and its network behave.
Profile P5Device() {
  Profile profile = EfaProfile();
  // Reported by the device since August 2024 (aws/aws-ofi-nccl pull request 516): then no packet
  // lands twice. Before that, those of writes did (pull request 280).
  profile.device.data_polling_128 = true;

  // 15.75 GB/s, the link that the captured tree shows.
  profile.dma_gbps = 126;
  // Chosen, with issue_cost, to fit `fi_rma_bw` on one NIC with a window of 64 writes
  // (libfabric-efa-demo data/fi_rma_bw.txt): 1.25 us a write up to 2 KiB, 6.26 us at 64 KiB.
  profile.one_way = DelayModel{.fixed = 10us, .jitter = 6us, .tail_one_in = 64, .tail = 60us};
  // 97.433 Gbit/s of one NIC that always had writes of 64 KiB (the same, src/7_queue.cpp).
  profile.header_bytes = 216;
  // All-to-all of 4 MiB by two p5: 20.1 GB/s of a GPU where peers are any GPUs, 43.7 where they are
  // those of the same place (uccl-project/uccl ep/bench/alltoall/efa_alltoall_results.md). The four
  // NICs of a GPU carry a quarter each. The page calls it an incast: some of the loss may be that.
  profile.crossing_gbps = 41.2;
  // 1.2 GiB by one NIC took 830 ms to its own host, and 340 ms to another one (kvcache-ai/Mooncake
  // docs/source/design/transfer-engine/efa_transport.md).
  profile.loopback_gbps = 12.7;
  // Fitted to `fi_rma_bw` from 12 to 768 KiB, where each window is drained before the next. That it
  // is a path that makes those slower is an assumption (docs/performance.md).
  profile.path_imbalance = 0.12;
  profile.path_lag = 250us;
  return profile;
}

// A whole machine.
Profile WithGpus(const GpuModel& model) {
  Profile profile = P5Device();
  for (int group = 0; group < 8; ++group) {
    const Place place{group, group / 4};
    const int first_bus = 0x44 + 0x11 * group;
    AddSwitch(profile, first_bus + 1, 15.75);
    for (int nic = 0; nic < 4; ++nic) AddNic(profile, place, first_bus + 0x0b + nic);
    AddGpu(profile, model, place, first_bus + 0x0f);
  }
  // The recorded machine had 96 CPUs, 0-47 and 48-95: one thread for each core. By default an
  // instance has two (EC2 user guide, page cpu-options), numbered as on p5en.
  profile.numa_cpus = {"0-47,96-143", "48-95,144-191"};
  // NCCL's figure for AMD's third and fourth generation (NVIDIA/nccl src/graph/topo.h).
  profile.numa_link_gbytes_per_s = 24;

  // Between host memories (kvcache-ai/Mooncake
  // docs/source/design/transfer-engine/efa_transport.md).
  profile.host_memory_gbytes_per_s = 64;
  return profile;
}

}  // namespace

Profile P5Profile() {
  Profile profile = WithGpus(H100());
  profile.name = "p5";
  profile.description = "p5.48xlarge: 32 NICs of 100 Gbit/s, 8 H100";
  profile.aliases = {"p5.48xlarge"};
  return profile;
}

Profile P5eProfile() {
  Profile profile = WithGpus(H200());
  profile.name = "p5e";
  profile.description = "p5e.48xlarge: 32 NICs of 100 Gbit/s, 8 H200";
  profile.aliases = {"p5e.48xlarge"};
  return profile;
}

// One NIC of 100 Gbit/s, 16 CPUs, one GPU (EC2 instance types, accelerated computing).
Profile P54xlargeProfile() {
  Profile profile = P5Device();
  profile.name = "p5-4xlarge";
  profile.description = "p5.4xlarge: 1 NIC of 100 Gbit/s, 1 H100";
  profile.aliases = {"p5.4xlarge"};
  profile.unknown = "addresses and PCIe switches of NIC and GPU";
  AddNic(profile, kUnknownPlace, 0x4f);
  AddGpu(profile, H100(), kUnknownPlace, 0x53);
  profile.numa_cpus = {"0-15"};
  return profile;
}

}  // namespace drydock::sim
