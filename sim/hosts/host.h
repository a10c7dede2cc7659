// This process as one machine of a simulated network that it shares with other processes, or alone
// in virtual time.
//
// Each process has a World of its own, driven by the machine's clock. A NIC of another process
// stands in it as a proxy (sim/hosts/proxy.h); packets that reach a proxy go on through shared
// memory, or a socket, to the world of that process. In virtual time there is no other process, and
// no thread: the program's waits run the world. See README.md.

#ifndef DRYDOCK_SIM_HOSTS_HOST_H_
#define DRYDOCK_SIM_HOSTS_HOST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/sim/hosts/host_counters.h"
#include "drydock/sim/machine/node.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/virtual_time/virtual_time.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

struct HostOptions {
  // Processes of one user that name the same fabric and seed share a network.
  std::string fabric = "default";
  std::uint64_t seed = 1;
  // Of this machine; outlives the host. The same one in every process of the network.
  const Profile* profile = nullptr;
  std::uint32_t zone = 0;  // availability zone: machines reach only those of their own
  // False: bytes of other processes always travel through shared memory. The environment variable
  // DRYDOCK_EFA_CROSS_MEMORY=0 has the same effect.
  bool cross_memory = true;
  // Whether the checks watch the program (World::checks), as one that lives by the machine's clock.
  bool checks = false;
  // tcp://HOST:PORT of a rendezvous: the network is of several computers, and the processes of each
  // share memory. Empty: it is of this one.
  std::string network;
  std::string key_file;  // of that network
  // False: processes of this computer are reached by sockets, too, as if they were on another.
  bool shared_memory = true;
  // Not null: the program lives in this time, and the machine is alone in a world that follows it;
  // the fabric, the seed, the profile and `checks` count then, and nothing else. Outlives the host.
  VirtualTime* virtual_time = nullptr;
  // How many hosts in virtual time this process had before: each draws other numbers.
  std::uint64_t life = 0;
};

// A process has one; several of one process are several machines, for tests. Thread-safe where a
// function does not say that it needs the mutex. Has a thread of its own: peers' packets arrive
// also while the program does something else. In virtual time there is no such thread, and one host
// at a time.
class Host {
 public:
  // Becomes a machine of the network. kInvalidArgument: no profile. kResourceExhausted: the network
  // has as many machines as it can have. kUnavailable: no shared memory, or no right to use it.
  // With a rendezvous, also the codes of CallRendezvous and Membership::Join; waits for it.
  static absl::StatusOr<std::unique_ptr<Host>> Join(const HostOptions& options);

  // Leaves: to its peers the machine falls silent. No other thread may be in a call.
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Held around every use of world(), of node() and of their parts, and around the functions below
  // that say so.
  std::mutex& mutex();
  World& world();
  Node& node();  // our machine

  // Runs the world up to now: packets from peers arrive, and those to peers leave. True when
  // something happened. To be called before something is posted, too: a request leaves at the time
  // of the last progress. REQUIRES: mutex() is held.
  bool Progress();

  // To be called after something was posted: the host's thread sees to it if the program does not
  // progress within a millisecond. Wakes the thread only when it would sleep longer than it may.
  // REQUIRES: mutex() is held.
  void Posted();
  // The program is not going to progress by itself, as when it waits for an event: the host's
  // thread takes over at once. REQUIRES: mutex() is held.
  void Kick();

  // `report` is called, with the mutex held and from any thread that progresses, after a progress
  // in which something happened that a program can see (Timeline::Wake). Replaces the one before;
  // empty: no report. It must not call the host. REQUIRES: mutex() is held.
  void OnCompletion(std::function<void()> report);

  // For memory that is written without a call, such as doorbells that the program rings itself.
  // `glance` looks there, with the mutex held, and returns whether it found something. It is called
  // at every progress, and by the host's thread while the program does not progress: without a
  // pause for 2 ms after a find (but for naps of up to 50 us where other threads want the
  // processor), then with pauses of a sixteenth of the time since, at most 1 ms. It must not call
  // the host. Returns a number for Unwatch. REQUIRES of both: mutex() is held.
  int Watch(std::function<bool()> glance);
  void Unwatch(int number);

  // The program lives in HostOptions::virtual_time, where nothing happens before it waits.
  bool in_virtual_time() const;

  // Whether the calling thread is one that a host has started. Safe in a signal handler.
  static bool IsInItsThread();

  // False in a child that was forked off this process: it must call nothing but this and the
  // destructor.
  bool usable() const;

  // REQUIRES of both: mutex() is held.
  HostCounters counters() const;
  // The thread sleeps until something comes from outside.
  bool resting() const;

  class Impl;  // host_impl.h

 private:
  explicit Host(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_HOST_H_
