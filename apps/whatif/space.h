// The workloads that a search looks through: those of the flags, and what may be different in them.
//
//   page 64 B ... 4 MiB   window 1 ... 256   NICs 1 ... 32   route aligned, crossing, loopback   ...
//        └── a point has one value of each dimension; the plain point is the workload of the flags

#ifndef DRYDOCK_APPS_WHATIF_SPACE_H_
#define DRYDOCK_APPS_WHATIF_SPACE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/sim/model/workload.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::whatif {

struct Dimension {
  std::string name;     // "page"
  bool ordered = true;  // neighbours in the list are neighbours in fact: 4 KiB, 16 KiB
  // A latency that grows with it is no cliff: what is longer takes longer.
  bool lengthens = false;
  struct Value {
    std::string label;  // "64 KiB"
    std::function<void(sim::model::Workload&)> apply;
  };
  std::vector<Value> values;
  std::size_t plain = 0;  // the value of the workload of the flags
};

using Point = std::vector<std::size_t>;  // of each dimension, the index of its value

// A value; thread-safe as values are.
class Space {
 public:
  // All dimensions around `plain`, which becomes a point of the space. The profile outlives it.
  static Space Around(const sim::Profile& profile, const sim::model::Workload& plain);

  // The same, where only these dimensions vary. kInvalidArgument: there is no such dimension, and the
  // message lists those that there are; or one is named twice.
  absl::StatusOr<Space> Varying(const std::vector<std::string>& names) const;
  // The same, where a dimension has only the values with these labels, and the plain one.
  // REQUIRES: there is such a dimension.
  Space Restricted(const std::string& name, const std::vector<std::string>& labels) const;

  const sim::Profile& profile() const { return *profile_; }
  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  Point plain() const;
  sim::model::Workload At(const Point& point) const;

 private:
  Space(const sim::Profile& profile, const sim::model::Workload& plain)
      : profile_(&profile), base_(plain) {}

  const sim::Profile* profile_;
  sim::model::Workload base_;
  std::vector<Dimension> dimensions_;
};

}  // namespace drydock::apps::whatif

#endif  // DRYDOCK_APPS_WHATIF_SPACE_H_
