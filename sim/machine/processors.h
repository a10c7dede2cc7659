// The CPU threads that drive a machine's NICs, in virtual time.
//
//   thread 0 ── NIC 0, 1, 2, 3      busy ▓▓▓▓▓▓▓▓░░▓▓▓▓▓▓▓▓▓▓▓▓
//   thread 1 ── NIC 4, 5, 6, 7      busy ▓▓▓▓▓▓░░░░░░▓▓▓▓▓▓▓▓▓▓      both at the same time
//
// A world has one clock and its program one loop: a post to any NIC makes all others wait. A
// program that would have a thread for some of its NICs gives them to a thread here. The program
// still runs in one place, and everything it computes itself takes no time; but what it does with
// such a NIC is the thread's work. The thread does one thing after the other:
//
//   - what is posted takes effect when the thread has come to its doorbell;
//   - a read of the NIC's queues finds nothing while the thread is busy, and the program is woken
//     when it is free. In a turn, at one time, the thread looks at each of its NICs once.
//
// A read that finds nothing costs nothing: a thread that has nothing to do spins. So a program must
// wait for the world, as event loops do: one that only reads again and again makes no time pass
// until the world loses patience.
//
// The costs: Profile::host, post_cost, doorbell_cost and poll_cost. Each takes longer the more
// threads the machine has, still longer where they share state, longer on another NUMA node than
// the NIC's. The first request to a peer has a cost of its own.
//
//   const auto thread = world.processors().AddThread(machine, {.numa_node = 0});
//   world.processors().Assign(machine, /*nic=*/0, *thread);
//
// A program that assigns nothing runs as if this were not here, event for event.

#ifndef DRYDOCK_SIM_MACHINE_PROCESSORS_H_
#define DRYDOCK_SIM_MACHINE_PROCESSORS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/address.h"
#include "drydock/sim/device/nic.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/events/actor.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/machine/node.h"
#include "drydock/sim/machine/numa.h"
#include "drydock/sim/machine/thread_shares.h"
#include "drydock/sim/profile/host_costs.h"

namespace drydock::sim {

struct CpuThreadOptions {
  int numa_node = Numa::kAnywhere;  // where it is pinned; kAnywhere: it wanders over all of them
  bool shares_state = false;        // with the machine's other threads of which this is said
  bool progress_in_post = false;    // each of its posts also looks for completions
};

// Not thread-safe: belongs to its world. On the machine's clock assigning could have no effect, and
// is refused: kFailedPrecondition.
class Processors final : public Actor {
 public:
  // Its constructor's arguments outlive it.
  Processors(Timeline& timeline, Numa& numa) : timeline_(timeline), numa_(numa) {}

  // One more thread of `machine`; returns its number, which is the world's. It counts as one that
  // is in the others' way as soon as a NIC is assigned to it. kInvalidArgument: the machine has no
  // such NUMA node.
  absl::StatusOr<std::size_t> AddThread(Node& machine, const CpuThreadOptions& options);

  // From now on this thread drives NIC `nic` of `machine`; as Numa::PlaceThread, it does so from
  // where it is pinned. Before the program opens the NIC. kInvalidArgument: there is no such NIC,
  // or the thread is not one of this machine's.
  absl::Status Assign(Node& machine, std::size_t nic, std::size_t thread);

  // Adds `threads` threads with these options, except for where they are pinned, and gives each its
  // share of these NICs (ShareOf). kInvalidArgument: as Assign; or `place` is kFar, and
  // the machine has not two NUMA nodes.
  absl::Status ShareOut(Node& machine, std::span<const std::size_t> nics, std::size_t threads,
                        ThreadPlace place, CpuThreadOptions options);

  std::size_t thread_count() const { return threads_.size(); }
  // How long a thread has worked, as far as it has been told to. REQUIRES: it was added.
  coro::Duration WorkOf(std::size_t thread) const { return threads_[thread].worked; }

  // --- For the driver: its work with a NIC, and the CPU time of that ---
  // A request to `peer` was accepted: the first one of a NIC that a thread drives makes contact.
  void Address(const Nic& nic, std::uint16_t queue_pair, fabric::Peer peer) {
    if (Thread* thread = Find(nic)) Address(*thread, nic, queue_pair, peer);
  }
  // The doorbell of a send queue, for `requests` more; `new_call`: the first one of a post call. It
  // rings when the CPU has come to it.
  void RingSend(Nic& nic, QueuePair& queue_pair, std::uint32_t counter, std::size_t requests,
                bool new_call) {
    if (Thread* thread = Find(nic)) [[unlikely]] {
      return RingSend(*thread, nic, queue_pair, counter, requests, new_call);
    }
    timeline_.Charge(nic.profile().doorbell_cost + numa_.FarThreadCost(nic.state()));
    nic.RingSend(queue_pair, counter);
  }
  // A post call to a send queue has ended, with so many requests accepted.
  void Posted(const Nic& nic, std::size_t requests) {
    if (Find(nic) == nullptr) timeline_.Charge(nic.profile().post_cost, requests);
  }
  // A post call to a receive queue, with so many accepted; `counter` is that of its doorbell.
  void RingReceive(Nic& nic, QueuePair& queue_pair, std::uint32_t counter, std::size_t requests);
  // The program is about to look into a queue. False: the CPU cannot do so now; the program is
  // woken when it can.
  bool BeginRead(const Nic& nic) {
    if (Thread* thread = Find(nic)) [[unlikely]] {
      return MayRead(*thread, nic);
    }
    timeline_.Charge(nic.profile().poll_cost);
    return true;
  }
  // It has looked, or could not; `count`: the completions that it found.
  void EndRead(const Nic& nic, std::size_t count) {
    if (Thread* thread = Find(nic)) [[unlikely]] {
      return count > 0 ? HasRead(*thread, nic) : FoundNothing(nic);
    }
    if (count == 0) return;
    const coro::Duration far = numa_.FarThreadCost(nic.state());
    if (far > coro::Duration::zero()) timeline_.Charge(far);
  }
  // Before the queue pair goes: its doorbells ring now.
  void Finish(const Nic& nic, const QueuePair& queue_pair);
  // The same for all.
  void FinishAll();

  std::uint32_t index() const override { return kNoActor; }
  // A doorbell of thread `event.a` is due.
  void OnEvent(const Event& event) override;

 private:
  struct Doorbell {
    Nic* nic;
    QueuePair* queue_pair;  // null: it has rung ahead of time
    std::uint32_t counter;
    bool receive;
  };

  struct Thread {
    std::uint32_t machine;  // Nic::machine() of its NICs
    CpuThreadOptions options;
    double roaming = 0;    // share of its time that it is far from any NIC: not pinned
    std::size_t nics = 0;  // that it drives
    double slowdown = 1;   // by the others
    coro::Time free{};     // from when on it has nothing to do
    coro::Time turn{};     // when it last began to look at its NICs
    coro::Time wake{};     // when the program is woken for it
    coro::Duration worked{};
    std::deque<Doorbell> doorbells;  // in the order of their events
  };

  static constexpr std::size_t kNoThread = SIZE_MAX;

  const Thread* Find(const Nic& nic) const { return threads_.empty() ? nullptr : Known(nic); }
  const Thread* Known(const Nic& nic) const;
  Thread* Find(const Nic& nic) {
    return const_cast<Thread*>(static_cast<const Processors*>(this)->Find(nic));
  }
  void Crowd(std::uint32_t machine);
  // The extra cost of a far NUMA node, for a doorbell or for a look that finds something.
  coro::Duration FarCost(const Thread& thread, const Nic& nic) const;
  void Address(Thread& thread, const Nic& nic, std::uint16_t queue_pair, fabric::Peer peer);
  void RingSend(Thread& thread, Nic& nic, QueuePair& queue_pair, std::uint32_t counter,
                std::size_t requests, bool new_call);
  bool MayRead(Thread& thread, const Nic& nic);
  void HasRead(Thread& thread, const Nic& nic);
  void FoundNothing(const Nic& nic);
  // The thread works, after all it has to do; returns until when.
  coro::Time Work(Thread& thread, coro::Duration alone);
  void Ring(Thread& thread, const Doorbell& doorbell, coro::Duration alone);
  static void RingNow(const Doorbell& doorbell);

  Timeline& timeline_;
  Numa& numa_;
  std::vector<Thread> threads_;
  struct Driven {
    std::size_t thread = kNoThread;
    const Profile* profile = nullptr;  // of the NIC
    coro::Time read{};                 // when something was last found there
  };

  std::vector<Driven> by_nic_;                                             // index = Nic::index()
  std::set<std::tuple<std::uint32_t, std::uint16_t, std::uint64_t>> met_;  // NIC, queue pair, peer
  coro::Time looked_{};  // in vain, so often at this time:
  std::uint32_t looks_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_MACHINE_PROCESSORS_H_
