// The limits that libfabric's provider reports, computed from the device's attributes as the
// provider does: ofiwg/libfabric prov/efa/src/efa_prov_info.c, efa_base_ep.c, efa_cq.c and
// rdm/efa_rdm_ep_fiops.c; linux-rdma/rdma-core providers/efa/verbs.c for the queues.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {
namespace {

constexpr std::size_t kAddressBytes = 32;      // GID, queue pair number, qkey, and 10 unused
constexpr std::size_t kSmallWorkRequest = 64;  // bytes
constexpr std::size_t kWideWorkRequest = 128;  // bytes

constexpr std::size_t kDirectCompletions = 12288;  // asked for by efa-direct and datagrams
constexpr std::size_t kEfaCompletions = 8192;      // asked for by efa, at least

// The protocol of the fabric `efa`.
constexpr std::size_t kLongestHeader = 168;        // of any of its packets
constexpr std::size_t kAtomicHeader = 24;          // struct efa_rdm_rta_hdr
constexpr std::size_t kRemoteSegment = 24;         // struct fi_rma_iov
constexpr std::size_t kEfaSegments = 4;            // of any operation
constexpr std::size_t kSharedMemoryInject = 4096;  // of the provider for peers on the same host
constexpr std::size_t kDatagramPrefix = 40;

// The limits that are the same on every fabric.
fabric::Limits DeviceLimits(const Profile& profile) {
  const DeviceAttributes& device = profile.device;
  fabric::Limits limits;
  limits.address_bytes = kAddressBytes;
  limits.send_queue_depth = MaxSendQueueDepth(profile, kSmallWorkRequest);
  limits.receive_queue_depth =
      std::bit_floor(std::size_t{device.max_rq_depth / device.max_wr_recv_sges});
  limits.completion_queue_depth = CompletionQueueDepth(profile, kDirectCompletions);
  limits.max_message_bytes = device.mtu;  // one packet: SRD and UD have no segmentation
  limits.send_segments = device.max_wr_send_sges;
  limits.receive_segments = device.max_wr_recv_sges;
  limits.mtu_bytes = device.mtu;
  limits.key_bytes = 4;
  limits.immediate_bytes = 4;
  limits.max_endpoints = device.max_qp;
  limits.max_completion_queues = device.max_cq;
  limits.max_memory_regions = device.max_mr;
  return limits;
}

void AddDatagrams(const Profile& profile, fabric::Limits& limits) {
  limits.datagram_bytes = profile.device.mtu + kDatagramPrefix;
  limits.datagram_prefix_bytes = kDatagramPrefix;
}

}  // namespace

fabric::Limits EfaDirectLimits(const Profile& profile, std::size_t inject_bytes) {
  const DeviceAttributes& device = profile.device;
  const std::size_t work_request = WorkRequestBytes(profile, inject_bytes);
  fabric::Limits limits = DeviceLimits(profile);
  limits.send_queue_depth = MaxSendQueueDepth(profile, work_request);
  limits.inject_bytes = std::max<std::size_t>(device.inline_buf_size, inject_bytes);
  if (device.rdma_read && device.rdma_write) {  // the fabric has both or neither
    limits.max_rma_bytes = device.max_rdma_size;
    limits.rma_segments = device.max_wr_rdma_sges;
    if (work_request == kWideWorkRequest) limits.inject_rma_bytes = inject_bytes;
  }
  return limits;
}

fabric::Limits EfaLimits(const Profile& profile) {
  fabric::Limits limits = DeviceLimits(profile);
  limits.completion_queue_depth = CompletionQueueDepth(
      profile, std::max(kEfaCompletions, limits.send_queue_depth + limits.receive_queue_depth));
  limits.max_message_bytes = fabric::Limits::kUnlimited;
  limits.max_rma_bytes = fabric::Limits::kUnlimited;
  limits.inject_bytes = std::min(kSharedMemoryInject, MaxPacketPayload(profile));
  limits.inject_rma_bytes = limits.inject_bytes;
  limits.multi_receive_bytes = MaxPacketPayload(profile);
  limits.send_segments = kEfaSegments;
  limits.receive_segments = kEfaSegments;
  limits.rma_segments = kEfaSegments;
  AddDatagrams(profile, limits);
  return limits;
}

fabric::Limits DatagramLimits(const Profile& profile) {
  fabric::Limits limits = DeviceLimits(profile);
  AddDatagrams(profile, limits);
  return limits;
}

std::size_t MaxAtomicBytes(const Profile& profile) {
  return profile.device.mtu - kAtomicHeader - kAddressBytes - kEfaSegments * kRemoteSegment;
}

std::size_t MaxPacketPayload(const Profile& profile) { return profile.device.mtu - kLongestHeader; }

std::size_t MaxInlineBytes(const Profile& profile) {
  return std::max(profile.device.inline_buf_size, profile.device.inline_buf_size_ex);
}

std::size_t WorkRequestBytes(const Profile& profile, std::size_t inline_bytes) {
  return inline_bytes > profile.device.inline_buf_size ? kWideWorkRequest : kSmallWorkRequest;
}

std::size_t MaxSendQueueDepth(const Profile& profile, std::size_t work_request_bytes) {
  const DeviceAttributes& device = profile.device;
  return std::bit_floor(
      std::min<std::size_t>(device.max_sq_depth, device.max_llq_size / work_request_bytes));
}

std::uint64_t PacketsInPiece(const Profile& profile, std::uint64_t bytes) {
  const std::uint64_t mtu = profile.device.mtu;
  return bytes <= mtu ? 1 : (bytes + mtu - 1) / mtu;
}

std::size_t MaxBatch(const Profile& profile, std::size_t work_request_bytes, std::size_t entries) {
  const DeviceAttributes& device = profile.device;
  return fabric::efa_queue::MaxBatch(device.max_tx_batch,
                                     static_cast<std::uint32_t>(work_request_bytes),
                                     static_cast<std::uint32_t>(entries), device.min_sq_depth);
}

std::size_t CompletionQueueDepth(const Profile& profile, std::size_t requested) {
  return std::min(std::bit_ceil(requested),
                  std::bit_floor(std::size_t{profile.device.max_cq_depth}));
}

Profile WithoutDelays(Profile profile) {
  profile.instant = true;
  profile.issue_cost = {};
  profile.dma_gbps = 0;
  profile.dma_latency = {};
  profile.receive_gbps = 0;
  profile.one_way = {};
  profile.path_spread = {};
  profile.path_imbalance = 0;
  profile.path_lag = {};
  profile.retransmit_one_in = 0;
  profile.duplicate_one_in = 0;
  profile.split_placement_one_in = 0;
  profile.ack_delay = {};
  return profile;
}

std::uint32_t RailOf(const Profile& profile, std::size_t nic) {
  const int place = profile.nics[nic].pcie_switch;
  return place >= 0 ? static_cast<std::uint32_t>(place) : static_cast<std::uint32_t>(nic);
}

}  // namespace drydock::sim
