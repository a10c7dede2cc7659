// p4d.24xlarge and p4de.24xlarge: four host bridges without a visible switch, each with one NIC and
// two GPUs.
// Addresses, NUMA nodes and device numbers: hwloc capture of ai-dynamo/nixl
// (test/unit/utils/libfabric/topo/p4d.24xl-topo.xml); aws/aws-ofi-nccl has the same NICs
// (tests/unit/fixtures/topology/p4d/topology.xml). CPUs and the GPUs of p4de: its
// topology/p4de-24xl-topo.xml.

#include <chrono>

#include "drydock/sim/profile/families.h"

namespace drydock::sim {

using namespace std::chrono_literals;

namespace {

// The common profile of the two: all but the memory of the GPUs, which is another model.
Profile WithGpus(const GpuModel& a100) {
  Profile profile = EfaProfile();
  profile.vendor_device_id = "1d0f:efa0";
  const int buses[] = {0x10, 0x20, 0x90, 0xa0};
  for (int bridge = 0; bridge < 4; ++bridge) {
    const Place place{bridge, bridge / 2};
    AddHostBridge(profile);
    AddNic(profile, place, buses[bridge], 0x1b);
    AddGpu(profile, a100, place, buses[bridge], 0x1c);
    AddGpu(profile, a100, place, buses[bridge], 0x1d);
  }
  // With two threads for each core, as an instance has by default.
  profile.numa_cpus = {"0-23,48-71", "24-47,72-95"};
  // NCCL's figure for Skylake and Cascade Lake (NVIDIA/nccl src/graph/topo.h).
  profile.numa_link_gbytes_per_s = 10;

  DeviceAttributes& device = profile.device;
  // RDMA read: AWS's scripts for p4d set FI_EFA_USE_DEVICE_RDMA=1 (aws/aws-parallelcluster
  // tests/integration-tests/tests/efa), with which libfabric ends a program whose device cannot
  // read (ofiwg/libfabric pull request 8186, man/fi_efa.7.md). No RDMA write: aws/aws-ofi-nccl
  // src/platform-aws.cpp uses send and receive there.
  device.rdma_write = false;
  device.unsolicited_write_recv = false;
  // The oldest device splits its completion queues (linux-rdma/rdma-core providers/efa/verbs.c);
  // into how many is unknown on hardware.
  device.sub_cqs_per_cq = 2;
  // Not recorded on this machine: the shortest send queue of any.
  device.max_sq_depth = 2048;
  device.max_llq_size = 2048 * 64;

  // 0.67 million messages a second (ofiwg/libfabric issue 5694, the same generation).
  profile.issue_cost = 1500ns;
  return profile;
}

}  // namespace

Profile P4dProfile() {
  Profile profile = WithGpus({"NVIDIA A100", "10de:20b0"});
  profile.name = "p4d";
  profile.description = "p4d.24xlarge: 4 NICs of 100 Gbit/s, 8 A100, no RDMA write";
  profile.aliases = {"p4d.24xlarge"};
  return profile;
}

Profile P4deProfile() {
  Profile profile = WithGpus({"NVIDIA A100 80GB", "10de:20b2"});
  profile.name = "p4de";
  profile.description = "p4de.24xlarge: 4 NICs of 100 Gbit/s, 8 A100 of 80 GB, no RDMA write";
  profile.aliases = {"p4de.24xlarge"};
  return profile;
}

}  // namespace drydock::sim
