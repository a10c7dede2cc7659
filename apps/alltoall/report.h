// The results of all ranks, as a person or a script is told.

#ifndef APPS_ALLTOALL_REPORT_H_
#define APPS_ALLTOALL_REPORT_H_

#include <cstdint>

#include "apps/alltoall/rounds.h"
#include "apps/common/session/console.h"
#include "apps/common/session/session.h"

namespace apps::alltoall {

// A row for each rank, then whether all of it is right. Returns the exit status: 0 only for right
// results.
int Report(Console& console, const Results& results, std::uint32_t rounds, const Scene& scene);

}  // namespace apps::alltoall

#endif  // APPS_ALLTOALL_REPORT_H_
