// The counters of a NIC, under the names of EFA's hardware counters (amzn/amzn-drivers, hw_counters
// in sysfs; docs/metrics.md has their meanings here). They are registers of the device, which
// metrics read; what observers count of its events is theirs (sim/coverage/outcome_counts.h).

#ifndef DRYDOCK_SIM_DEVICE_DEVICE_COUNTERS_H_
#define DRYDOCK_SIM_DEVICE_DEVICE_COUNTERS_H_

#include <cstdint>

#include "drydock/fabric/operation.h"

namespace drydock::sim {

struct DeviceCounters {
  std::uint64_t tx_bytes = 0;  // on the link, with headers, and again where they are sent again
  std::uint64_t tx_pkts = 0;
  std::uint64_t rx_bytes = 0;
  std::uint64_t rx_pkts = 0;
  std::uint64_t rx_drops = 0;  // no receive was posted, or a datagram found no queue pair
  std::uint64_t send_bytes = 0;
  std::uint64_t send_wrs = 0;
  std::uint64_t recv_bytes = 0;
  std::uint64_t recv_wrs = 0;
  std::uint64_t rdma_read_wrs = 0;
  std::uint64_t rdma_read_bytes = 0;
  std::uint64_t rdma_read_wr_err = 0;
  std::uint64_t rdma_read_resp_bytes = 0;  // read by peers
  std::uint64_t rdma_write_wrs = 0;
  std::uint64_t rdma_write_bytes = 0;
  std::uint64_t rdma_write_wr_err = 0;
  std::uint64_t rdma_write_recv_bytes = 0;  // written by peers
  std::uint64_t retrans_bytes = 0;
  std::uint64_t retrans_pkts = 0;
  std::uint64_t retrans_timeout_events = 0;
  std::uint64_t unresponsive_remote_events = 0;
  std::uint64_t impaired_remote_conn_events = 0;  // a peer's link had no room for packets of ours

  // Commands of the driver to the device.
  std::uint64_t submitted_cmds = 0;
  std::uint64_t completed_cmds = 0;
  std::uint64_t cmds_err = 0;
  std::uint64_t alloc_pd_err = 0;
  std::uint64_t create_qp_err = 0;
  std::uint64_t create_cq_err = 0;
  std::uint64_t reg_mr_err = 0;
  std::uint64_t create_ah_err = 0;

  // Counters of the hardware that nothing here can raise: always 0.
  std::uint64_t no_completion_cmds = 0;  // every command is answered at once
  std::uint64_t keep_alive_rcvd = 0;     // the device sends no keep-alive events
  std::uint64_t alloc_ucontext_err = 0;  // pages of doorbells do not run out
  std::uint64_t mmap_err = 0;            // nor does mapping them fail

  // The simulator's own: mistakes of a program that the device cannot survive, or does not report.
  std::uint64_t qkey_viol = 0;         // packets with a wrong qkey
  std::uint64_t completions_lost = 0;  // a completion queue was full
  std::uint64_t malformed_work = 0;    // work requests that make no sense
  std::uint64_t doorbell_faults = 0;   // doorbells that no counter of posted entries explains
  std::uint64_t placed_twice = 0;      // packets whose bytes were placed twice

  // Packets with this many bytes in all, and a header each.
  void Sent(std::uint64_t packets, std::uint64_t bytes, std::uint64_t header_bytes) {
    tx_pkts += packets;
    tx_bytes += bytes + packets * header_bytes;
  }
  void Received(std::uint64_t packets, std::uint64_t bytes, std::uint64_t header_bytes) {
    rx_pkts += packets;
    rx_bytes += bytes + packets * header_bytes;
  }
  // A work request of ours has ended.
  void Ended(fabric::OperationKind kind, std::uint64_t bytes, bool failed) {
    switch (kind) {
      case fabric::OperationKind::kWrite:
        ++rdma_write_wrs;
        if (failed) ++rdma_write_wr_err;
        if (!failed) rdma_write_bytes += bytes;
        break;
      case fabric::OperationKind::kRead:
        ++rdma_read_wrs;
        if (failed) ++rdma_read_wr_err;
        if (!failed) rdma_read_bytes += bytes;
        break;
      default:
        ++send_wrs;
        if (!failed) send_bytes += bytes;
    }
  }
  // A packet with this many bytes was lost, and sent again `times` times.
  void Retransmitted(std::uint64_t times, std::uint64_t bytes, std::uint64_t header_bytes) {
    retrans_pkts += times;
    retrans_bytes += times * (bytes + header_bytes);
    retrans_timeout_events += times;
    Sent(times, times * bytes, header_bytes);
  }
  // Commands that succeeded; a command that was refused, counted under `error` as well.
  void Commands(std::uint64_t count) {
    submitted_cmds += count;
    completed_cmds += count;
  }
  void Refusal(std::uint64_t DeviceCounters::*error) {
    Commands(1);
    ++cmds_err;
    ++(this->*error);
  }
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_DEVICE_COUNTERS_H_
