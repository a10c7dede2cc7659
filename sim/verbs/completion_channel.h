// Completion channels: a file descriptor that can be read when a queue that was armed has a new
// completion.

#ifndef SIM_VERBS_COMPLETION_CHANNEL_H_
#define SIM_VERBS_COMPLETION_CHANNEL_H_

#include "sim/verbs/completion_queue.h"

namespace sim::verbs {

// The queue was armed: its channel is told of the next completion. REQUIRES of both: the context's
// mutex is held.
void Await(Queue& queue);
// The queue goes: nobody is told any more.
void Abandon(Queue& queue);

}  // namespace sim::verbs

#endif  // SIM_VERBS_COMPLETION_CHANNEL_H_
