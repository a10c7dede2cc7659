// What a NIC counts, under the names of EFA's hardware counters (amzn/amzn-drivers, hw_counters in
// sysfs).

#ifndef SIM_DEVICE_COUNTERS_H_
#define SIM_DEVICE_COUNTERS_H_

#include <cstdint>

namespace sim {

struct DeviceCounters {
  std::uint64_t tx_bytes = 0;  // on the link, with headers
  std::uint64_t tx_pkts = 0;
  std::uint64_t rx_bytes = 0;
  std::uint64_t rx_pkts = 0;
  std::uint64_t rx_drops = 0;  // no receive was posted, or nobody knew the packet
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
  std::uint64_t qkey_viol = 0;  // packets with a wrong qkey

  // The simulator's own: what a program did that the device cannot survive.
  std::uint64_t completions_lost = 0;  // a completion queue was full
  std::uint64_t malformed_work = 0;    // work requests that make no sense
  std::uint64_t doorbell_faults = 0;   // doorbells that no counter of posted entries explains
  std::uint64_t placed_twice = 0;      // packets whose bytes were placed twice
};

}  // namespace sim

#endif  // SIM_DEVICE_COUNTERS_H_
