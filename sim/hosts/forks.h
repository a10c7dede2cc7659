// Tells objects that they are in a forked child, which must not go on using them.

#ifndef DRYDOCK_SIM_HOSTS_FORKS_H_
#define DRYDOCK_SIM_HOSTS_FORKS_H_

namespace drydock::sim {

// An object that a child of a fork must not use. Not owned here; watched from WatchForks to
// UnwatchForks.
class ForkAware {
 public:
  virtual ~ForkAware() = default;
  // Called once, in a child that was forked off this process, before fork returns there. Only the
  // forking thread is there: no lock may be taken, and WatchForks and UnwatchForks may not be
  // called. Afterwards the child does not watch the object any more.
  virtual void InChild() = 0;
};

// InChild of `who` is called in children forked between these two. Thread-safe.
void WatchForks(ForkAware& who);
void UnwatchForks(ForkAware& who);

// Calls `before` in every thread that is about to fork, then `after` in that thread and `in_child`
// in the child, where InChild of all objects has been called: pthread_atfork(3), but that `before`
// may wait for a thread that is in WatchForks or UnwatchForks.
void AroundForks(void (*before)(), void (*after)(), void (*in_child)());

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_FORKS_H_
