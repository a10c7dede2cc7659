// An operation that has not ended, and that no task waits for any more.
//
// An orphan is an operation in flight that was given up and whose completion has not been read.
// Given up are operations that expired (the deadline came), that were cancelled and did not end
// within AsyncEndpointOptions::cancel_patience, and that were dropped (the coroutine that awaited
// it was destroyed). Not orphans, when their endpoint closes, are
//
//   - operations that are still awaited: they end with kCanceled;
//   - operations that were dropped at that very moment, by the time of the loop's turn: a
//     program that takes down tasks and their endpoint together has given up neither;
//   - receives that stand posted for any sender (OperationOptions::standing): closing the
//     endpoint is how they end;
//   - what was never posted.

#ifndef DRYDOCK_FABRIC_ASYNC_ORPHAN_H_
#define DRYDOCK_FABRIC_ASYNC_ORPHAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "drydock/coro/task_tree.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::async {

struct Orphan {
  OperationKind kind = OperationKind::kSend;
  std::uint64_t bytes = 0;
  coro::TaskPlace awaited;  // where
  coro::Time since{};       // when it was given up, by the time of the loop's turn
  bool dropped = false;     // by destruction
};

// One line for all of a kind and a place, however many there are:
//
//   1 write of 4096 B, awaited in Session (server.cc:20) at line 31, given up 1.2 ms ago
//   8 receives of 4096 B in all, awaited in Next (queue.cc:9) at line 12, the first given up 3 s ago
//
// Empty: there are none.
std::string Describe(std::span<const Orphan> orphans, coro::Time now);

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_ORPHAN_H_
