// What the header's inline functions call through a context, of things that EFA does not have.

#ifndef DRYDOCK_SIM_VERBS_UNSUPPORTED_H_
#define DRYDOCK_SIM_VERBS_UNSUPPORTED_H_

#include <infiniband/verbs.h>

namespace drydock::sim::verbs {

// Gives each of them a function that returns EOPNOTSUPP and prints a line the first time. One that
// is null gives the same error and says nothing (infiniband/verbs.h).
void RefuseByContext(verbs_context& verbs);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_UNSUPPORTED_H_
