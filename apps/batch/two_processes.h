// A run between two processes, through libfabric: a receiver that waits for one sender. They find
// each other by TCP; the pages go by the fabric.

#ifndef DRYDOCK_APPS_BATCH_TWO_PROCESSES_H_
#define DRYDOCK_APPS_BATCH_TWO_PROCESSES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/batch/load.h"
#include "drydock/apps/batch/reception.h"
#include "drydock/apps/batch/watch.h"
#include "drydock/coro/tcp.h"
#include "drydock/fabric/fabric.h"

namespace drydock::apps::batch {

struct TwoProcessRun {
  fabric::Fabric* fabric = nullptr;  // outlives the run
  std::size_t first_nic = 0;  // of the fabric: with EFA, the first of as many as the load has
  std::uint64_t seed = 1;
  bool progress = false;  // on a terminal: a line on standard error
  // A line for a person or a script: "address", "HOST:PORT".
  LogLine log;
  // Tells a receiver's sender where it listens; empty: a person does.
  std::function<absl::Status(const coro::TcpAddress& at)> announce;
};

// Where a sender's receiver is.
using FindReceiver = std::function<absl::StatusOr<coro::TcpAddress>()>;

// Opens what it needs, asks where the receiver is, and writes to it. kUnavailable: there is no
// receiver, or it has closed its connection; kFailedPrecondition: the receiver refuses, or could
// not do its part; others as `find_receiver` and the engine.
absl::StatusOr<BatchResult> RunSender(const TwoProcessRun& run, const FindReceiver& find_receiver,
                                      const Load& load);

// Listens at `at`, says where, serves one sender and returns; `load` says the policy, the threads
// and the time-out, the sender everything else. kDataLoss: what came is wrong; kUnavailable: the
// sender has closed its connection before all pages came; kDeadlineExceeded: nobody has come, where
// `announce` has told the sender, or pages are missing; kInvalidArgument: the sender asks for what
// cannot be.
absl::Status RunReceiver(const TwoProcessRun& run, const coro::TcpAddress& at, const Load& load);

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_TWO_PROCESSES_H_
