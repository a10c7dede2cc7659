// Tells the observers of a world what its program does with the interface: the checks
// (docs/checks.md) know no verbs. Tells nothing where they do not watch.

#ifndef DRYDOCK_SIM_VERBS_TELLING_H_
#define DRYDOCK_SIM_VERBS_TELLING_H_

#include <cstdint>
#include <optional>

#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/device/observer.h"
#include "drydock/sim/driver/open_object.h"

namespace drydock::sim::verbs {

struct Context;
class Queue;
class QueuePair;

// Whether the checks watch this process. REQUIRES: a device is or was open.
bool IsWatched();

// A member of each object that a program opens; gone, or empty, where it is not open.
using Opened = std::optional<OpenObject>;
// REQUIRES of all that follow, but for TellTwoThreads: the context's mutex is held.
void TellOpened(Opened& opened, const Context& context, ObjectKind kind);
void TellBusy(Opened& opened);
// A queue pair that can be posted to, the first time, and one that closes.
void TellReady(QueuePair& queue_pair);
void TellClosing(QueuePair& queue_pair);
// The program ends: of a session that another thread may still go on with nothing is told.
void TellUnrungAtEnd(QueuePair& queue_pair);
// The program writes to its rings from now on.
void TellMapped(const QueuePair& queue_pair);
void TellQueueOpened(const Queue& queue);
void TellQueueClosing(const Queue& queue, std::uint32_t unacknowledged);
void TellHandleClosing(const Context& context, std::uint16_t handle, std::uint16_t domain);

void TellPosted(const QueuePair& queue_pair, const fabric::efa_queue::SendWork& work,
                std::uint64_t wr_id);
void TellPosted(const QueuePair& queue_pair, const fabric::efa_queue::ReceiveWork& work,
                std::uint64_t wr_id);
void TellAgain(const QueuePair& queue_pair, const fabric::efa_queue::SendWork& work,
               std::uint64_t wr_id);
void TellRead(const QueuePair& queue_pair, bool receive, std::uint16_t request_id,
              std::uint8_t status);
void TellPolling(const Queue& queue);

// A second thread has come into an object. `caller`: an address in the code that called. Where the
// program has promised nothing, this is no news. Takes the mutex.
void TellTwoThreads(const QueuePair& queue_pair, const void* caller);
void TellTwoThreads(const Queue& queue);

fabric::OperationKind KindOf(fabric::efa_queue::Operation operation);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_TELLING_H_
