#include "drydock/sim/hosts/forks.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace drydock::sim {
namespace {

struct Watchers {
  std::mutex mutex;  // held over a fork, so that the child finds the list whole
  std::vector<ForkAware*> list;
};

Watchers& Everyone() {
  static Watchers* const watchers = [] {
    pthread_atfork([] { Everyone().mutex.lock(); }, [] { Everyone().mutex.unlock(); },
                   [] {
                     for (ForkAware* who : Everyone().list) who->InChild();
                     Everyone().list.clear();
                     Everyone().mutex.unlock();
                   });
    return new Watchers;  // a fork may come after main has ended
  }();
  return *watchers;
}

}  // namespace

void WatchForks(ForkAware& who) {
  const std::lock_guard lock(Everyone().mutex);
  Everyone().list.push_back(&who);
}

void UnwatchForks(ForkAware& who) {
  const std::lock_guard lock(Everyone().mutex);
  std::erase(Everyone().list, &who);
}

// Those that were registered last are called first before a fork, and last after it.
void AroundForks(void (*before)(), void (*after)(), void (*in_child)()) {
  Everyone();
  pthread_atfork(before, after, in_child);
}

}  // namespace drydock::sim
