// The implementation of a Host: a machine among others, or one that is alone in virtual time.

#ifndef DRYDOCK_SIM_HOSTS_HOST_IMPL_H_
#define DRYDOCK_SIM_HOSTS_HOST_IMPL_H_

#include <functional>
#include <memory>
#include <mutex>

#include "drydock/sim/hosts/host.h"

namespace drydock::sim {

// Each function does what Host's function of its name says (host.h), with the same rules about the
// mutex; the comments below say more where the two differ:
//
//   Networked (host.cc)   the machine's clock, a thread, other processes
//   Alone (alone.cc)      the program's virtual time, no thread, no other process
//
// Belongs to its Host. After InChild (forks.h) only usable() may be called, and Host does not
// destroy it. No call can fail.
class Host::Impl {
 public:
  virtual ~Impl() = default;

  // The one mutex of the host, which Host's callers lock. The implementation locks it by itself
  // only outside of their calls: in the host's thread, in its destructor, or in a wait for virtual
  // time.
  virtual std::mutex& mutex() = 0;
  // The world in which the machine stands, and the machine in it. Both live as long as the host.
  virtual World& world() = 0;
  // See world().
  virtual Node& node() = 0;
  // Runs the world up to now, and reports (OnCompletion) what a program can see. True: an event
  // happened or a message arrived. Alone also lets Profile::poll_cost of the program's time pass.
  virtual bool Progress() = 0;
  // Hands posted requests to the neighbours, and wakes the host's thread if it would sleep too
  // long. Alone does nothing: the next Progress or wait runs the world.
  virtual void Posted() = 0;
  // Makes the host's thread take over at once. Alone does nothing.
  virtual void Kick() = 0;
  // Replaces the report; empty: none. Alone also calls it after every wait for virtual time,
  // whether the program can see something or not.
  virtual void OnCompletion(std::function<void()> report) = 0;
  // Adds a glance; returns its number, from 1 on and never twice. Networked wakes the host's thread
  // for it. Alone calls it in Progress and in waits only, and ignores its result.
  virtual int Watch(std::function<bool()> glance) = 0;
  // Takes a glance away; a number without a glance changes nothing. Not from within a glance.
  virtual void Unwatch(int number) = 0;
  // Alone: true.
  virtual bool in_virtual_time() const = 0;
  // True until InChild.
  virtual bool usable() const = 0;
  // Counts since the host began. Alone: all zero.
  virtual HostCounters counters() const = 0;
  // The host's thread sleeps without a limit. Alone: nothing is going to happen in the world by
  // itself.
  virtual bool resting() const = 0;
};

// One whose world follows the program's virtual time. REQUIRES: options.virtual_time is there.
std::unique_ptr<Host::Impl> MakeAlone(const HostOptions& options, const NodeIdentity& identity);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_HOST_IMPL_H_
