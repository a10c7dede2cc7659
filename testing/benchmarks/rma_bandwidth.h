// The bandwidth test of libfabric's fabtests, fi_rma_bw, on any backend of the contract, timed by
// the backend's clock.

#ifndef DRYDOCK_TESTING_BENCHMARKS_RMA_BANDWIDTH_H_
#define DRYDOCK_TESTING_BENCHMARKS_RMA_BANDWIDTH_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "drydock/coro/clock.h"
#include "drydock/fabric/fabric.h"

namespace drydock::bench {

// Defaults as the tool's (ofiwg/libfabric fabtests/benchmarks/benchmark_shared.c,
// include/shared.h).
struct RmaBandwidthOptions {
  std::size_t bytes = 0;  // of one write
  std::size_t window = 64;
  std::size_t warm_up = 10;  // writes before the clock starts; they are part of the first window
  std::size_t iterations = 0;
};

// As many as the tool makes of this size.
std::size_t RmaBandwidthIterations(std::size_t bytes);

// Posts a window of writes one by one, reads their completions one by one until the last of them
// came, then the next window. Returns the nanoseconds of one write. The writer is NIC 0 of
// `initiator`; `clock` advances time when there is nothing to read. Errors: those of the
// backend, kDataLoss when a completion can never come.
absl::StatusOr<double> MeasureRmaBandwidth(fabric::Fabric& initiator, fabric::Fabric& target,
                                           coro::Clock& clock, const RmaBandwidthOptions& options);

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_RMA_BANDWIDTH_H_
