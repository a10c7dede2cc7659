// The CPU time that a program's use of its NICs costs: the figures of a machine, and the arithmetic
// that the simulator (sim/machine/processors.h) and the predictor (sim/model) share.
//
//   one post call =  turn + doorbells + requests * (post + work [+ progress])     on a thread alone
//   slowdown      =  1 + others * machine + others that share state * state       pinned threads
//                    1 + (the same) * wandering                                   threads that roam

#ifndef DRYDOCK_SIM_PROFILE_HOST_COSTS_H_
#define DRYDOCK_SIM_PROFILE_HOST_COSTS_H_

#include <cstddef>
#include <cstdint>

#include "drydock/coro/time.h"

namespace drydock::sim {

// Of one kind of machine. Zeros: nothing is charged beyond posts, doorbells and polls.
struct HostCosts {
  coro::Duration turn{};      // a turn of the program's loop for one NIC: once per post call
  coro::Duration work{};      // of the program, per request: what to write where, and its record
  coro::Duration progress{};  // per request, where a post also looks for completions
  coro::Duration first_contact{};  // of the first request of a NIC to a peer
  double machine_contention = 0;   // share of a thread's time that each other busy thread adds
  double state_contention = 0;     // the same for each other one that shares its state
  double wandering = 1;            // times both, for threads that are pinned to no NUMA node
};

// The threads at work on a machine beside one, and how they share.
struct ThreadCrowd {
  std::size_t threads = 1;  // of the machine that drive NICs, this one included
  std::size_t sharing = 1;  // of them that share their state with this one; 1: it has its own
  bool pinned = true;
};

// How much longer everything takes in such a crowd; 1: alone.
constexpr double Slowdown(const HostCosts& costs, const ThreadCrowd& crowd) {
  const auto others = [](std::size_t all) { return static_cast<double>(all > 0 ? all - 1 : 0); };
  const double contention = others(crowd.threads) * costs.machine_contention +
                            others(crowd.sharing) * costs.state_contention;
  return 1 + contention * (crowd.pinned ? 1 : costs.wandering);
}

constexpr coro::Duration Times(coro::Duration duration, double factor) {
  return coro::Duration(static_cast<std::int64_t>(static_cast<double>(duration.count()) * factor));
}

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_PROFILE_HOST_COSTS_H_
