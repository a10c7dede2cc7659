// A kind of machine, as data: its NICs and GPUs, the attributes that the device reports to its
// driver, and how long things take.
//
// Where a figure comes from is said beside it in sim/profile/. Where the behaviour of the hardware
// is not known, the default takes the harsher side and says so.

#ifndef DRYDOCK_SIM_PROFILE_PROFILE_H_
#define DRYDOCK_SIM_PROFILE_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/limits.h"
#include "drydock/sim/profile/host_costs.h"

namespace drydock::sim {

// One NIC of a machine.
struct NicProfile {
  std::string name;         // rdmap79s0: bus 79, slot 0, both decimal
  std::string pci_address;  // 0000:4f:00.0
  int numa_node = -1;       // -1: unknown
  int pcie_switch = -1;     // index in Profile::pcie_switches; -1: unknown
};

// One GPU of a machine.
struct GpuProfile {
  std::string name;              // NVIDIA H100
  std::string vendor_device_id;  // 10de:2330
  std::string pci_address;
  int numa_node = -1;    // -1: unknown
  int pcie_switch = -1;  // index in Profile::pcie_switches; -1: unknown
};

// A PCIe switch of a machine, or a host bridge that has the devices right below it.
struct PcieSwitchProfile {
  std::string upstream_port;         // PCI address, towards the CPU: 0000:45:00.0; empty: a bridge
  double upstream_gbytes_per_s = 0;  // GB/s of that port, each direction; 0: not told
};

// The attributes that the device reports to its driver. Names and units are those of amzn-drivers
// kernel/linux/efa/src/efa_admin_cmds_defs.h; the values here are those of most instance types.
struct DeviceAttributes {
  // Queue pairs.
  std::uint32_t max_qp = 256;              // SRD and UD together
  std::uint32_t max_sq_depth = 4096;       // 64-byte work requests
  std::uint32_t min_sq_depth = 32;         // a shorter send queue is made this long
  std::uint32_t max_rq_depth = 32768;      // buffer descriptors
  std::uint32_t max_llq_size = 256 << 10;  // bytes of the largest send ring in device memory
  std::uint32_t max_tx_batch = 11;         // 64-byte units between two doorbells; 0: no limit
  std::uint32_t inline_buf_size = 32;      // bytes inside a 64-byte work request
  std::uint32_t inline_buf_size_ex = 0;    // inside a 128-byte one; not above inline_buf_size: none
  std::uint32_t max_wr_send_sges = 2;      // local segments of a send
  std::uint32_t max_wr_recv_sges = 3;      // local segments of a receive
  std::uint32_t max_wr_rdma_sges = 1;      // local segments of a read or write

  // Completion queues.
  std::uint32_t max_cq = 512;
  std::uint32_t max_cq_depth = 32768;   // entries
  std::uint32_t sub_cqs_per_cq = 1;     // rings that one completion queue is made of
  std::uint32_t num_comp_vectors = 32;  // 1: no blocking wait
  // A queue that raises no events has a doorbell, too, so that the device knows how far it was read
  // (db_valid of the command's answer; with events it is always set). Which devices, and which
  // firmware: unknown on hardware, harsher side.
  bool cq_doorbell = false;
  std::uint32_t max_comp_cntr = 0;  // completion counters; 0: none, libfabric counts by software
  // After this value a completion counter goes on with 0. Not published: aws-ofi-nccl's device code
  // compares the low 31 bits.
  std::uint64_t comp_cntr_max_value = (std::uint64_t{1} << 31) - 1;

  // Memory and addresses. A region's pages are counted as large as the memory's own are, which the
  // driver asks of the kernel (linux-rdma drivers/infiniband/hw/efa/efa_verbs.c,
  // ib_umem_find_best_pgsz): of 2 MiB a region with remote write holds 2 TiB.
  std::uint32_t max_mr = 262144;                   // the size of the key table
  std::uint64_t max_mr_pages = 24 << 20;           // pages in one region: of 4 KiB, 96 GiB
  std::uint64_t max_remote_write_pages = 1 << 20;  // the same for a region with remote write: 4 GiB
  std::uint64_t max_total_pages = 24 << 20;        // pages in all regions of a device
  std::uint32_t page_bytes = 4096;                 // a host page, unless it is a huge one
  // A page of a GPU's memory (amzn-drivers kernel/linux/efa/src/efa_gdr.c pins pages of 64 KiB; by
  // dmabuf they may be found to be larger: unknown on hardware, harsher side).
  std::uint32_t gpu_page_bytes = 64 << 10;
  std::uint32_t max_pd = 256;             // protection domains
  std::uint32_t max_ah = 1024;            // address handles
  std::uint32_t mtu = 8928;               // payload bytes of one packet: the longest send
  std::uint64_t max_rdma_size = 1 << 30;  // bytes of one read or write

  // Capability bits.
  bool rdma_read = true;
  bool rdma_write = true;
  bool rnr_retry = true;               // the number of receiver-not-ready retries can be set
  bool unsolicited_write_recv = true;  // an immediate of a write needs no posted receive
  // Aligned blocks of 128 bytes land once, and in order, whatever writes, reads or sends them: the
  // device has one bit (linux-rdma/rdma-core providers/efa/verbs.c, efa_query_qp_data_in_order).
  bool data_polling_128 = false;
};

// How long something takes: a fixed part, a part drawn evenly from [0, jitter], and, once in
// `tail_one_in` draws (0: never), an extra part drawn evenly from [0, tail].
struct DelayModel {
  coro::Duration fixed{};
  coro::Duration jitter{};
  std::uint32_t tail_one_in = 0;
  coro::Duration tail{};
};

// How packets travel and what the device does with time. All delays are virtual time. Fields whose
// values are unpublished are listed in unpublished.h, each with its plausible range and the reason.
struct Profile {
  std::string name;                  // the value of --profile
  std::string description;           // one line for a person
  std::vector<std::string> aliases;  // other names that FindProfile takes: p5.48xlarge
  // The unpublished facts of this machine, in a few words: then NICs and GPUs have addresses that
  // are made up, no switch and no NUMA node. Empty: a machine was recorded.
  std::string unknown;
  std::string vendor_device_id;  // of the NICs: 1d0f:efa1
  std::vector<NicProfile> nics;  // by PCI address
  std::vector<GpuProfile> gpus;  // by PCI address, the order of CUDA_DEVICE_ORDER=PCI_BUS_ID
  std::vector<PcieSwitchProfile> pcie_switches;
  std::vector<std::string> numa_cpus;  // of each NUMA node, as Linux lists CPUs: 0-47,96-143
  double link_gbps = 100;              // Gbit/s of one NIC
  DeviceAttributes device;
  fabric::Limits limits;  // EfaDirectLimits of this profile

  // Nothing takes time between the doorbell and the completion, and the bytes of an operation are
  // placed at once, in a drawn order of their packets: see WithoutDelays.
  bool instant = false;

  // --- The NIC ---
  coro::Duration issue_cost{};  // of the NIC, per work request, one after the other
  // Work requests that a NIC serves at the same time, in random order.
  std::uint32_t engine_window = 16;
  double dma_gbps = 126;         // Gbit/s between the NIC and memory, each direction; 0: no limit
  coro::Duration dma_latency{};  // of a DMA read that a packet waits for before it can leave
  // Gbit/s of packets that it takes in, if less than its link; 0: as its link.
  double receive_gbps = 0;

  // --- The wire ---
  DelayModel one_way;             // from one NIC to another, without the time on the link
  std::size_t header_bytes = 64;  // on the link, beside a packet's payload
  // Packets of a read or write that travel as one piece, and arrive when the last of them would:
  // what each of them meets is added up, and one event stands for all. At most 64; messages of
  // forty pieces and more have larger ones, by up to a half (sim/device/piece.h). 1: each packet is
  // an event of its own. Under a fault plan it is always so. See docs/fidelity.md.
  std::uint32_t flow_packets = 1;
  std::uint32_t paths = 64;      // network paths to one destination; a packet takes any
  coro::Duration path_spread{};  // each path adds its own constant delay from [0, path_spread]
  // Gbit/s of what a NIC sends to another rail (RailOf), to itself, and of the data that peers read
  // from it, where that is less than its link; 0: it is not.
  double crossing_gbps = 0;
  double loopback_gbps = 0;
  double read_gbps = 0;
  double path_imbalance = 0;  // of the link's time, more for the same packets by the slowest path
  coro::Duration path_lag{};  // which falls no further behind the fastest than this
  std::uint32_t retransmit_one_in = 0;  // a packet is lost and sent again; 0: never
  coro::Duration retransmit_delay{};    // from the loss to the second copy
  std::uint32_t duplicate_one_in = 0;   // a packet is placed twice before completion; 0: never
  coro::Duration duplicate_delay{};     // the second placement is later by [0, duplicate_delay]
  std::uint32_t split_placement_one_in = 4;  // a packet lands in two steps, its end first; 0: never
  coro::Duration split_placement_delay{1000};  // the second step is later by [0, this]
  coro::Duration ack_delay{};                  // at the target, before an answer leaves
  // Of packets that wait for a receiver's link (sim/network/ingress.h). The wait from which on the
  // senders that know of it slow down; 0: none does. The longest wait: a packet that would
  // have to wait longer is lost, and sent again; 0: there is no limit.
  coro::Duration congestion_target{};
  coro::Duration incast_queue{};
  coro::Duration unresponsive_timeout{};  // peer answered before, now silent: status 13 after this
  coro::Duration unreachable_timeout{};   // peer never answered: status 15 after this

  // --- Receiver not ready ---
  std::uint32_t rnr_retries = 7;  // 0 to 6: that many; 7: for ever (efa-direct's default)
  coro::Duration rnr_delay{};     // before each retry

  // --- Immediates of writes ---
  // Where only one end has unsolicited immediates. 1: the target refuses such a write, status 18;
  // 0: the write lands, and its immediate takes no receive.
  std::uint32_t refuses_mixed_immediates = 1;

  // --- Between NUMA nodes: for memory and threads that a program has placed
  // (sim/machine/numa.h) ---
  coro::Duration numa_crossing{};     // one way from one node to another
  double numa_link_gbytes_per_s = 0;  // GB/s from one node to another, each direction; 0: no limit

  // --- The host's CPU, charged to the caller ---
  coro::Duration post_cost{};      // per work request
  coro::Duration doorbell_cost{};  // per post call
  coro::Duration poll_cost{};      // per read of a completion queue, empty or not
  HostCosts host;                  // beside these, with threads (sim/machine/processors.h)

  // --- For predictions only (sim/model) ---
  double host_memory_gbytes_per_s = 0;  // GB/s of all NICs from host to host memory; 0: not told
};

// ---- What a provider derives from the attributes (ofiwg/libfabric prov/efa/src) ----

// Limits of the fabric `efa-direct`: the device itself. `inject_bytes` is what the caller asked to
// inject: above inline_buf_size it chooses the 128-byte work request, which halves the send queue
// and allows injected writes. REQUIRES: inject_bytes <= MaxInlineBytes(profile).
fabric::Limits EfaDirectLimits(const Profile& profile, std::size_t inject_bytes = 0);

// Limits of reliable datagram endpoints of the fabric `efa`: the software protocol on the device.
fabric::Limits EfaLimits(const Profile& profile);

// Limits of unreliable datagram endpoints of the fabric `efa`.
fabric::Limits DatagramLimits(const Profile& profile);

// Bytes of an atomic operation of the fabric `efa`: one packet less its worst headers. libfabric
// reports it as max_order_{raw,war,waw}_size.
std::size_t MaxAtomicBytes(const Profile& profile);

// Bytes of a message's first packet on the fabric `efa`, beside the longest header: its `multi`
// receives end when less is left. libfabric 2.0.0 reports it as the link's MTU, newer ones report
// DeviceAttributes::mtu.
std::size_t MaxPacketPayload(const Profile& profile);

// Bytes that a work request can carry inside, of either size.
std::size_t MaxInlineBytes(const Profile& profile);

// Bytes of a work request that carries `inline_bytes` inside: 64 or 128.
std::size_t WorkRequestBytes(const Profile& profile, std::size_t inline_bytes);

// Entries of the longest send queue with work requests of `work_request_bytes`, 64 or 128.
std::size_t MaxSendQueueDepth(const Profile& profile, std::size_t work_request_bytes);

// Packets that carry `bytes`, which travel as one; no bytes are a packet as well.
std::uint64_t PacketsInPiece(const Profile& profile, std::uint64_t bytes);

// Work requests that may be written between two doorbells of a send queue of `entries`.
std::size_t MaxBatch(const Profile& profile, std::size_t work_request_bytes, std::size_t entries);

// Entries of a completion queue for which `requested` were asked: the next power of two, at most
// the device's limit.
std::size_t CompletionQueueDepth(const Profile& profile, std::size_t requested);

// The same machine, whose devices and network take no time: for throughput on the machine's own
// clock, and for GPUs that drive the queues. Time-outs and retries keep their times; packets are
// neither lost nor placed twice, nor in two steps.
Profile WithoutDelays(Profile profile);

// The rail of a machine's NIC, a number: NICs at the same PCIe switch are on one, on every machine;
// where switches are not known, each is on its own. REQUIRES: there is such a NIC.
std::uint32_t RailOf(const Profile& profile, std::size_t nic);

// The extra cost of a thread on another NUMA node than its NIC, for a doorbell and for each look
// into a queue that finds completions: a store to the device is followed by a wait for its arrival,
// and a load from memory that the device has written goes there and back.
constexpr coro::Duration FarThreadCost(const Profile& profile) { return profile.numa_crossing * 2; }

// ---- Lookup ----

// All profiles; the first is the default. Static storage.
std::span<const Profile> Profiles();

// By name or alias. kNotFound lists the names that exist.
absl::StatusOr<const Profile*> FindProfile(absl::string_view name);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_PROFILE_PROFILE_H_
