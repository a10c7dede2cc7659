// Counts what a program asks of a fabric whose NICs count nothing themselves: providers of
// libfabric such as tcp and shm.
//
//   program ──► counted fabric ──► tcp
//                    └──► tally: send_wrs, send_bytes, recv_wrs, ... of each NIC

#ifndef DRYDOCK_FABRIC_METRICS_COUNTED_FABRIC_H_
#define DRYDOCK_FABRIC_METRICS_COUNTED_FABRIC_H_

#include <memory>
#include <vector>

#include "drydock/fabric/fabric.h"
#include "drydock/fabric/metrics/counters.h"

namespace drydock::fabric::metrics {

struct Tallies;  // of every NIC

// Decorates a fabric. What a program can see from where it stands is counted under the hardware's
// names, with these differences: requests and their bytes count when they are accepted, failed ones
// too; sends and receives with tags, and atomics, are not seen. Packets, retransmissions, and what
// peers do without a word to the program are not known, and are not in the metrics.
class CountedFabric {
 public:
  // `fabric` works as before, whatever becomes of this.
  explicit CountedFabric(std::unique_ptr<Fabric> fabric);
  ~CountedFabric();

  // The decorated fabric; once.
  std::unique_ptr<Fabric> Take() { return std::move(fabric_); }

  // Of each of the fabric's NICs that was opened. Thread-safe.
  std::vector<NicMetrics> Metrics() const;

 private:
  const std::shared_ptr<Tallies> tallies_;
  std::unique_ptr<Fabric> fabric_;
};

}  // namespace drydock::fabric::metrics

#endif  // DRYDOCK_FABRIC_METRICS_COUNTED_FABRIC_H_
