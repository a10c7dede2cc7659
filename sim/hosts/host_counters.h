// The counts of a host so far, for tests and for people.

#ifndef DRYDOCK_SIM_HOSTS_HOST_COUNTERS_H_
#define DRYDOCK_SIM_HOSTS_HOST_COUNTERS_H_

#include <cstdint>

namespace drydock::sim {

struct HostCounters {
  std::uint64_t thread_turns = 0;       // how often its thread woke up
  std::uint64_t messages_sent = 0;      // to other processes
  std::uint64_t messages_taken = 0;     // from other processes
  std::uint64_t bytes_in_messages = 0;  // payload that came through shared memory, or sockets
  std::uint64_t bytes_across = 0;       // payload that was read from another process's memory
  std::uint64_t messages_refused = 0;   // that made no sense
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_HOST_COUNTERS_H_
