// Completion channels: a file descriptor that can be read when a queue that was armed has a new
// completion.

#ifndef DRYDOCK_SIM_VERBS_COMPLETION_CHANNEL_H_
#define DRYDOCK_SIM_VERBS_COMPLETION_CHANNEL_H_

#include "drydock/sim/verbs/completion_queue.h"

namespace drydock::sim::verbs {

// The queue was armed: its channel is told of the next completion. REQUIRES of both: the context's
// mutex is held.
void Await(Queue& queue);
// The queue goes: its channel is told no more, also if it is armed again, and events that nobody
// has read are gone.
void Abandon(Queue& queue);
// Waits until the program has acknowledged all events that it has read, as ibv_destroy_cq(3) does:
// a thread may still use the queue between both. That waits for ever; this gives up after two
// seconds, and at once in virtual time, where there is no other thread. Returns how many are left,
// modulo 2^32: more than there were may have been acknowledged.
// REQUIRES: Abandon was called; the context's mutex is not held.
std::uint32_t Unacknowledged(Queue& queue);

// Before a read of a descriptor that events come by. In virtual time the read would wait for ever,
// or would be a look that takes no time, and the world runs while the program polls
// (sim/virtual_time): so this polls. Otherwise it does nothing.
void WaitInVirtualTime(int fd, const Context& context);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_COMPLETION_CHANNEL_H_
