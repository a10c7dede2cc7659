// How fast a workload is on a kind of machine, calculated from the figures of its profile.
//
//   CPU thread ──► NIC: requests ──► PCIe ──► wire ──► peer's NIC ──► memory
//   post rate      request rate      PCIe     wire     receive side   memory, NUMA
//        ▲                                                  │
//        └───────── window: so many under way, ─────────────┘
//                   each for one latency
//
// Each stage has a rate; the least of them is the workload's, and its stage the limiter. Nothing is
// looked up: the published figures that the profiles were fitted to are tests (predictor_test.cc).

#ifndef DRYDOCK_SIM_MODEL_PREDICTOR_H_
#define DRYDOCK_SIM_MODEL_PREDICTOR_H_

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/sim/model/flights.h"
#include "drydock/sim/model/workload.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim::model {

// The tolerance of predictions: one that was not fitted is as published within this, or missed.
inline constexpr double kTolerance = 0.15;

enum class Limiter : std::uint8_t {
  kWire,          // the NICs' links
  kRoute,         // the same, where less passes: between rails, in loopback, of reads
  kPcie,          // between NIC and memory
  kReceiveSide,   // the peers' NICs, as they receive
  kRequestRate,   // the NICs' own pace, request by request
  kPostRate,      // the CPU threads
  kPollRate,      // those of them that only read completions
  kNuma,          // those that post, and not for want of threads: they are pinned nowhere, or far
                  // from their NICs
  kWindow,        // too little under way for the latency
  kMemory,        // the host's, and the ports of the PCIe switches before it
  kFarMemory,     // between the NUMA nodes, where memory is of another one than its NIC
  kFirstContact,  // of NICs and peers that have not met, where the work has an end
};

// "receive side". Static storage.
std::string_view Name(Limiter limiter);

struct Bound {
  Limiter limiter;
  double operations_per_s;  // pages of all GPUs together, were this the only limit
};

// A part of a latency, under the name of its stage; the flight of packets, which nothing limits, is
// the wire's.
struct LatencyPart {
  Limiter stage;
  coro::Duration time;
};

struct Prediction {
  double operations_per_s = 0;  // pages of all GPUs together, in the steady state
  double gbps = 0;              // Gbit/s of payload
  double share_of_line = 0;     // of the links of all NICs that the workload names: 0 to 1
  Limiter limiter = Limiter::kWire;
  std::vector<Bound> bounds;  // of every stage, the least first
  coro::Duration latency{};   // of one page, from the post to its completion, alone
  // With which a run begins: from the first post until every NIC has ended its first request,
  // contact aside. Longer than `latency`: threads post to one NIC after the other, and the last to
  // end counts.
  coro::Duration first_pages{};
  std::vector<LatencyPart> first_pages_parts;  // which it is the sum of
  std::size_t active_nics = 0;    // of those that the workload names: the others carry nothing
  std::size_t parts = 1;          // of a page, each a request of another NIC
  coro::Duration post_cost{};     // of a thread, per request
  coro::Duration contact_time{};  // before the first page, where nothing is warm
  // For Workload::operations, contact included, from the first post to the last completion; 0: for
  // ever. That the last pages may be late ones, as the first may, is not counted: many NICs with few
  // pages each take up to half as long again.
  coro::Duration total{};
  double overall_gbps = 0;  // over that time; with no end, the same as gbps
};

// Predicts many workloads of one kind of machine faster than Predict does each: it remembers the
// distributions of delays that it has worked out. Not thread-safe. The profile outlives it and does
// not change.
class Predictor {
 public:
  explicit Predictor(const Profile& profile) : profile_(profile), flights_(profile) {}

  // As the function of this name.
  absl::StatusOr<Prediction> Predict(const Workload& workload);

 private:
  const Profile& profile_;
  Flights flights_;
};

// kInvalidArgument: names the part that the machine lacks, or the value that makes no sense.
// kUnimplemented: its NICs do not both read and write. Thread-safe.
absl::StatusOr<Prediction> Predict(const Profile& profile, const Workload& workload);

// Predict's conditions for a workload: no more NICs than this machine has, and so on.
absl::Status Check(const Profile& profile, const Workload& workload);

}  // namespace drydock::sim::model

#endif  // DRYDOCK_SIM_MODEL_PREDICTOR_H_
