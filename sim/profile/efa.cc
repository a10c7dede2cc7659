// The profile that all EFA devices start from.

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/sim/profile/families.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

std::string PciAddress(int bus, int slot) { return absl::StrFormat("0000:%02x:%02x.0", bus, slot); }

}  // namespace

// The device attributes are the defaults of DeviceAttributes. Most are those of
// openucx/ucx contrib/ibmock/config.c, which imitates a 0xefa1 device; those that fi_info shows are
// the same on a real p5 (abcdabcd987/libfabric-efa-demo data/fi_info.yaml). The others:
//
//   max_remote_write_pages  ofiwg/libfabric pull request 10402 (2024; newer firmware may take more)
//   max_total_pages         ofiwg/libfabric issue 9739 (95 GB of 4 KiB pages); kvcache-ai/Mooncake
//                           pull request 1912 (about 24 million entries)
//   num_comp_vectors        `ibv_devinfo -v` on p5en, in ofiwg/libfabric fabtests/pytest/efa
//   max_tx_batch            unknown on hardware; short, so that drivers must ring often
//   min_sq_depth            unknown on hardware
//   unsolicited_write_recv  which devices lack it is unknown on hardware; with it, a completion
//                           queue can overrun (ai-dynamo/nixl issue 1123): the harsher side
//   *_128                   unknown on hardware unless an instance type says so; harsher side
Profile EfaProfile() {
  Profile profile;
  profile.vendor_device_id = "1d0f:efa1";

  // Unknown on hardware: how many work requests a NIC serves at once, the DMA latency, the link's
  // overhead per packet (a type that was measured has its own).
  profile.engine_window = 16;
  profile.header_bytes = 64;
  profile.dma_latency = 600ns;
  // Published rates of one NIC are 2.1 to 2.6 million work requests a second (arXiv 2510.27656,
  // table 2 and ablation; uccl-project/uccl issue 377).
  profile.issue_cost = 400ns;

  // A round trip takes about 30 us, as small writes do (arXiv 2510.27656, table 2: 31 us from post
  // to completion). How it is made up, and its tail, are unknown on hardware.
  profile.one_way = DelayModel{.fixed = 8us, .jitter = 6us, .tail_one_in = 64, .tail = 60us};
  profile.paths = 64;  // AWS HPC blog 2023, "there's more than one way to build a network"
  profile.path_spread = 4us;
  profile.ack_delay = 1us;

  // How often packets are lost is unknown on hardware. Lost ones are sent again within microseconds
  // and not milliseconds (AWS re:Invent 2022, keynote of P. DeSantis).
  profile.retransmit_one_in = 8192;
  profile.retransmit_delay = 100us;
  profile.duplicate_delay = 10us;  // unknown on hardware

  // SRD limits the rate of each connection by its round-trip times (L. Shalev and others, IEEE
  // Micro 40(6), 2020); with which figures is unknown on hardware. Of how long a queue before a
  // link may be, too: a shallow one, which a few senders fill within a round trip.
  profile.congestion_target = 20us;
  profile.incast_queue = 100us;

  // Internal to the device and not published: unknown on hardware.
  profile.unresponsive_timeout = 2s;
  profile.unreachable_timeout = 2s;
  profile.rnr_delay = 50us;
  // A job that runs sees its peers fall silent, status 13 (aws/aws-ofi-nccl pull request 1294).

  // A DMA read of the other node's memory takes about 100 ns more, there and back, on Intel servers
  // (R. Neugebauer and others, "Understanding PCIe performance for end host networking", SIGCOMM
  // 2018). That a thread meets the same is an assumption.
  profile.numa_crossing = 50ns;

  // 0.45 us for each write of many (arXiv 2510.27656, ablation of posts), with an app's own work.
  profile.post_cost = 150ns;
  profile.doorbell_cost = 200ns;
  profile.poll_cost = 40ns;

  // Of a program with threads, as a p5's CPU runs it: fitted to the steps by which 32 NICs came
  // from 293 to 3108 Gbit/s (abcdabcd987/libfabric-efa-demo src/, programs 10 to 15);
  // docs/performance.md shows the fit. Other machines than p5 take them over.
  profile.host.turn = 514ns;      // bursts of 16 do without 15 of 16
  profile.host.work = 486ns;      // one thread's time for a request, less all the rest
  profile.host.progress = 300ns;  // the last step was bound by the wire: it is 170 ns at least
  profile.host.machine_contention = 0.09;  // 8 pinned threads with states of their own
  profile.host.state_contention = 0.054;   // 8 pinned threads with one state
  profile.host.wandering = 5.5;            // the same, not pinned
  // The first connect message took 19.56 ms (the same); a first submission to a peer 26 to 99 ms,
  // and then 0.09 ms (kvcache-ai/Mooncake docs/source/design/transfer-engine/efa_transport.md).
  profile.host.first_contact = 19560us;
  return profile;
}

void AddSwitch(Profile& profile, int upstream_bus, double upstream_gbytes_per_s) {
  profile.pcie_switches.push_back({.upstream_port = PciAddress(upstream_bus, 0),
                                   .upstream_gbytes_per_s = upstream_gbytes_per_s});
}

void AddHostBridge(Profile& profile) { profile.pcie_switches.emplace_back(); }

void AddNic(Profile& profile, Place place, int bus, int slot) {
  profile.nics.push_back(NicProfile{.name = absl::StrCat("rdmap", bus, "s", slot),
                                    .pci_address = PciAddress(bus, slot),
                                    .numa_node = place.numa_node,
                                    .pcie_switch = place.pcie_switch});
}

void AddGpu(Profile& profile, const GpuModel& model, Place place, int bus, int slot) {
  profile.gpus.push_back(GpuProfile{.name = model.name,
                                    .vendor_device_id = model.vendor_device_id,
                                    .pci_address = PciAddress(bus, slot),
                                    .numa_node = place.numa_node,
                                    .pcie_switch = place.pcie_switch});
}

}  // namespace drydock::sim
