// The engine's records of its transfers: private to engine.cc and engine_calls.cc.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_ENGINE_STATE_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_ENGINE_STATE_H_

#include <cstdint>
#include <vector>

#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/async/transfer/plan.h"

namespace drydock::fabric::async::transfer {

// One call under way; used again by a later one.
struct Engine::Transfer : coro::ListNode {
  // A page that failed.
  struct Redo {
    std::uint32_t page = 0;
    std::uint32_t attempts = 0;
    Route failed;
  };

  Plan plan;
  Policy policy = Policy::kRoundRobin;
  std::size_t nic = 0;
  std::uint32_t next = 0;       // the first page that was never handed out
  std::uint32_t under_way = 0;  // pages that NICs have
  std::uint32_t completed = 0;
  std::vector<Redo> redo;
  bool over = false;      // failed or abandoned: nothing more is handed out
  bool finished = false;  // nothing is under way, and nothing will be
  bool abandoned = false;
  absl::Status failure;
  coro::WaitList done{"a transfer"};

  bool HasMore() const { return !over && (next < plan.pages || !redo.empty()); }
};

// A chunk that a NIC has.
struct Engine::Dispatched {
  Transfer* transfer = nullptr;
  Route route;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t attempts = 0;         // that failed before this one
  std::vector<std::uint32_t> failed;  // pages
  std::uint64_t bytes = 0;            // of all but a scatter's
  std::uint64_t failed_bytes = 0;
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_ENGINE_STATE_H_
