// A barrier: N programs wait for each other, again and again.
//
//   Barrier barrier(endpoint, memory, {.self = 2, .members = 8, .first_immediate = 0x700});
//   ... tell the others barrier.flag(), and be told theirs ...
//   barrier.Connect(others);
//   CO_RETURN_IF_ERROR(co_await barrier.Arrive(deadline));  // all eight have arrived
//
// The dissemination barrier (Hensgen, Finkel, Manber 1988): in round r every member writes with
// immediate to the member 2^r places on, and waits for the one 2^r places back; after log2(N)
// rounds, rounded up, every member has heard of every other.
//
// Generations: an immediate belongs to a round, and only one member ever sends it here. A member
// that waits in generation g counts g of them; the member that sent the g-th has come to generation
// g in that round, whichever of its writes landed first. So a fast member's next generation is not
// taken for this one, and no immediate needs a generation in it.

#ifndef DRYDOCK_FABRIC_ASYNC_BARRIER_H_
#define DRYDOCK_FABRIC_ASYNC_BARRIER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/now_task.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::async {

struct BarrierOptions {
  std::size_t self = 0;               // this member's number
  std::size_t members = 1;            // numbered from 0
  std::uint32_t first_immediate = 0;  // the same for all; so many as Barrier::Rounds are in use
};

// How to reach a member.
struct BarrierMember {
  Peer peer{};
  RemoteBuffer flag;
};

// Not thread-safe, not movable. Dies before its endpoint, and after every Arrive.
class Barrier {
 public:
  static constexpr std::size_t kFlagBytes = 8;

  // How many rounds, and immediates, so many members need.
  static std::size_t Rounds(std::size_t members);

  // Counts from now on: the others may be told of `flag` once this exists, and not before.
  // `memory`: kFlagBytes for the barrier alone, which peers may write to. REQUIRES: self < members.
  Barrier(AsyncEndpoint& endpoint, const BufferSlice& memory, const BarrierOptions& options);
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  // Where the other members write.
  RemoteBuffer flag() const;

  // All members, by number; this one's own entry is not used. REQUIRES: so many as there are.
  void Connect(std::vector<BarrierMember> members);

  // Returns when every member has arrived as often as this one. kDeadlineExceeded: a member did not
  // come in time. Other errors: those of a write to a member. After an error the barrier is broken,
  // and answers with it for ever: it is not known which members were told. kFailedPrecondition:
  // another call is under way, or its coroutine was destroyed. REQUIRES: connected.
  coro::Task<absl::Status> Arrive(coro::Time deadline = coro::kNever);

  // How often this member has arrived.
  std::uint64_t generation() const { return generation_; }

 private:
  coro::NowTask<absl::Status> RunRound(std::size_t round, coro::Time deadline);

  AsyncEndpoint& endpoint_;
  const BufferSlice flag_;  // its bytes never change: writes of it may overtake each other
  const BarrierOptions options_;
  std::vector<std::unique_ptr<ImmediateCounter>> told_;  // by round
  std::vector<BarrierMember> members_;
  std::uint64_t generation_ = 0;
  absl::Status failure_;
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_BARRIER_H_
