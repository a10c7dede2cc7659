// The results of all ranks, as a person or a script is told.

#ifndef DRYDOCK_APPS_ALLTOALL_REPORT_H_
#define DRYDOCK_APPS_ALLTOALL_REPORT_H_

#include <cstdint>

#include "drydock/apps/alltoall/rounds.h"
#include "drydock/apps/common/session/console.h"
#include "drydock/apps/common/session/session.h"

namespace drydock::apps::alltoall {

// A row for each rank, then whether all of it is right. Returns the exit status: 0 only for right
// results.
int Report(Console& console, const Results& results, std::uint32_t rounds, const Scene& scene);

}  // namespace drydock::apps::alltoall

#endif  // DRYDOCK_APPS_ALLTOALL_REPORT_H_
