// Points in a program that say whether a run has been there, for whoever runs it with many seeds:
//
//   sim::coverage::Always("window holds", in_flight <= depth);  // false once: the run has failed
//   sim::coverage::Sometimes("retried", attempts > 1);          // should be true in some run
//   sim::coverage::Reachable("peer went away");                 // should be reached in some run
//
// Nobody watches a program outside of an exploration: a point then costs the test of one pointer.
// What they came to over all seeds is in the report of sim/explore; report.h.

#ifndef SIM_COVERAGE_COVERAGE_H_
#define SIM_COVERAGE_COVERAGE_H_

#include <string_view>

#include "sim/coverage/report.h"

namespace sim::coverage {

namespace internal {
// Of this thread; null: nobody watches.
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

}  // namespace sim::coverage

#endif  // SIM_COVERAGE_COVERAGE_H_
