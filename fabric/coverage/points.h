// Points in a program that say whether a run has been there, for runs of it with many seeds:
//
//   // false once, and the run has failed
//   fabric::coverage::Always("window holds", in_flight <= depth);
//   // should be true in some run
//   fabric::coverage::Sometimes("retried", attempts > 1);
//   // should be reached in some run
//   fabric::coverage::Reachable("peer went away");
//
// They may stay in a program that runs on hardware: unless the thread is watched, a point costs the
// test of one pointer. sim/explore watches its runs, and reports what all seeds have come to.

#ifndef DRYDOCK_FABRIC_COVERAGE_POINTS_H_
#define DRYDOCK_FABRIC_COVERAGE_POINTS_H_

#include <string_view>

#include "drydock/fabric/coverage/report.h"

namespace drydock::fabric::coverage {

namespace internal {
// Of this thread; null: it is not watched.
extern constinit thread_local Report* watching;
void Note(PointKind kind, std::string_view name, bool holds);
}  // namespace internal

// A name belongs to one point, or to several that mean the same. Any thread.
inline void Always(std::string_view name, bool holds) {
  if (internal::watching != nullptr) internal::Note(PointKind::kAlways, name, holds);
}
inline void Sometimes(std::string_view name, bool holds) {
  if (internal::watching != nullptr) internal::Note(PointKind::kSometimes, name, holds);
}
inline void Reachable(std::string_view name) {
  if (internal::watching != nullptr) internal::Note(PointKind::kReachable, name, true);
}

// The points of this thread are entered into `report` while this lives. Not within another one.
class Watch {
 public:
  explicit Watch(Report& report);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();
};

}  // namespace drydock::fabric::coverage

#endif  // DRYDOCK_FABRIC_COVERAGE_POINTS_H_
