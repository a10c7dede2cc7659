// Completion channels: a file descriptor that can be read when a queue that was armed has a new
// completion.

#ifndef DRYDOCK_SIM_VERBS_COMPLETION_CHANNEL_H_
#define DRYDOCK_SIM_VERBS_COMPLETION_CHANNEL_H_

#include "drydock/sim/verbs/completion_queue.h"

namespace drydock::sim::verbs {

// The queue was armed: its channel is told of the next completion. REQUIRES of both: the context's
// mutex is held.
void Await(Queue& queue);
// The queue goes: its channel is told no more.
void Abandon(Queue& queue);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_COMPLETION_CHANNEL_H_
