// A barrier: N programs with engines wait for each other, again and again.
//
//   BarrierGroup group(engine, flag, {.transfer = 5, .self = 2, .members = 8});
//   ... tell the others flag->descriptor(), import theirs ...
//   group.Connect(flags);
//   CO_RETURN_IF_ERROR(co_await engine.Barrier(group, deadline));  // all eight have arrived
//
// Every member tells every other one, by one scatter: one round, over all NICs, that survives the
// loss of one. A member's message has its number and its generation in it, as the number of a page:
// so a message that comes twice counts once, and a member that is a generation ahead is not taken
// for one that is not.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_BARRIER_GROUP_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_BARRIER_GROUP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"
#include "drydock/fabric/async/transfer/arrivals.h"
#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/async/transfer/memory.h"

namespace drydock::fabric::async::transfer {

struct BarrierGroupOptions {
  std::uint32_t transfer = 0;  // the same for all members, and no other group's
  std::size_t self = 0;        // this member's number
  std::size_t members = 1;     // numbered from 0, at most kMostMembers
};

// Not thread-safe, not movable. Dies before its engine, and after every Arrive.
class BarrierGroup final : private ArrivalSink {
 public:
  static constexpr std::size_t kFlagBytes = 8;
  static constexpr std::size_t kMostMembers = 4096;

  // Counts from now on: the others may be told of `flag` once this exists, and not before. `flag`:
  // kFlagBytes for the group alone, which the others may write to. REQUIRES: self < members, in
  // range; the transfer is not expected yet.
  BarrierGroup(Engine& engine, MemoryRef flag, const BarrierGroupOptions& options);
  BarrierGroup(const BarrierGroup&) = delete;
  BarrierGroup& operator=(const BarrierGroup&) = delete;
  ~BarrierGroup();

  // The others' flags, by member; this one's own entry is not used. REQUIRES: so many as members.
  void Connect(std::vector<RemoteRef> flags);

  // Returns when every member has arrived as often as this one. kDeadlineExceeded: a member did not
  // come in time. Other errors: those of Engine::Scatter. After an error, or when a call was
  // destroyed, the group is broken, and answers with that for ever: it is not known which members
  // were told. kFailedPrecondition: another call is under way. REQUIRES: connected.
  coro::Task<absl::Status> Arrive(coro::Time deadline = coro::kNever);

  // How often this member has arrived.
  std::uint64_t generation() const { return generation_; }

 private:
  // The members that have come to a generation: the one that this member waits for, or the next.
  struct Round {
    std::vector<bool> came;
    std::size_t count = 0;
  };

  Verdict Arrived(std::uint32_t page) override;
  Round& RoundOf(std::uint64_t generation) { return rounds_[generation % rounds_.size()]; }
  std::uint32_t PageOf(std::uint64_t generation, std::size_t member) const;

  Engine& engine_;
  const MemoryRef flag_;
  const BarrierGroupOptions options_;
  const std::uint64_t generations_;  // so many are told apart
  std::vector<ScatterWrite> writes_;
  std::array<Round, 2> rounds_;
  std::uint64_t generation_ = 0;
  absl::Status failure_;
  coro::WaitList changed_{"the others at a barrier"};
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_BARRIER_GROUP_H_
