// Whether a cliff that was found by the predictor is there on the simulator as well.

#ifndef DRYDOCK_APPS_WHATIF_CONFIRM_H_
#define DRYDOCK_APPS_WHATIF_CONFIRM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/whatif/search.h"
#include "drydock/apps/whatif/space.h"
#include "drydock/coro/time.h"

namespace drydock::apps::whatif {

enum class Verdict : std::uint8_t {
  kConfirmed,
  kNotSeen,    // the simulator plays both workloads, and they are not so far apart
  kModelOnly,  // it has no part for what one of them does, or it would take too long
};

// "confirmed", "not seen", "model only". Static storage.
absl::string_view Name(Verdict verdict);

// Of a workload, played through.
struct Simulated {
  double gbps = 0;
  double share = 0;          // as Outcome's
  coro::Duration latency{};  // until the first page of every NIC has ended
};

struct Confirmation {
  Verdict verdict = Verdict::kModelOnly;
  std::string reason;  // of kModelOnly
  Simulated here;      // otherwise
  Simulated there;
};

// Not thread-safe: it remembers what it has played, since many cliffs share a neighbour. The space
// outlives it.
class Confirmer {
 public:
  // The options are those of the search.
  Confirmer(const Space& space, const SearchOptions& options) : space_(space), options_(options) {}

  // Plays the cliff's workload and its neighbour. Errors: those of sim::model::Play, except that
  // what it does not play is the verdict kModelOnly.
  absl::StatusOr<Confirmation> Confirm(const Cliff& cliff);

  std::size_t plays() const { return plays_; }  // how often the simulator was asked

 private:
  absl::StatusOr<Simulated> At(const Point& point, Measure measure);

  const Space& space_;
  const SearchOptions options_;
  std::map<std::pair<Point, Measure>, absl::StatusOr<Simulated>> played_;
  std::size_t plays_ = 0;
};

}  // namespace drydock::apps::whatif

#endif  // DRYDOCK_APPS_WHATIF_CONFIRM_H_
