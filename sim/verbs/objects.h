// The objects behind a program's handles: the structure of the interface, and ours.

#ifndef DRYDOCK_SIM_VERBS_OBJECTS_H_
#define DRYDOCK_SIM_VERBS_OBJECTS_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <type_traits>
#include <vector>

#include "drydock/fabric/faults/event.h"
#include "drydock/sim/device/nic.h"
#include "drydock/sim/hosts/host.h"
#include "drydock/sim/memory/memory_table.h"
#include "drydock/sim/verbs/machine.h"
#include "drydock/sim/verbs/telling.h"
#include "drydock/sim/verbs/termination.h"

namespace drydock::sim::verbs {

class Queue;
class QueuePair;

// A name in the list of devices. Made once, lives as long as the process.
struct Device : ibv_device {
  std::size_t index = 0;  // of the profile's NICs
};

struct Context;

// The structure of the interface grows at its beginning, so it comes last here.
struct ContextHandle {
  Context* context;
  verbs_context verbs;
};
static_assert(std::is_standard_layout_v<ContextHandle>);

// An open device: ibv_open_device to ibv_close_device.
struct Context {
  std::shared_ptr<Host> host;
  Nic* nic = nullptr;
  std::vector<QueuePair*> queue_pairs;  // index = number; guarded by mutex(), as is the next
  std::set<Queue*> queues;              // that are open
  // What the NIC holds beside them until it is closed or the device is; guarded by mutex().
  std::set<std::uint32_t> regions;       // remote keys
  std::multiset<std::uint16_t> handles;  // address handles
  std::set<ProtectionDomain> domains;
  std::uint32_t counters = 0;  // completion counters
  ContextHandle handle{};

  // Null: there is none of this number (any more).
  QueuePair* Find(std::uint16_t number) const {
    return number < queue_pairs.size() ? queue_pairs[number] : nullptr;
  }
  // Held around everything that touches the simulated device.
  std::mutex& mutex() const { return host->mutex(); }
  const Profile& profile() const { return nic->profile(); }
};

// A promise that one thread uses the objects of this domain: it changes nothing here.
struct ThreadDomain : ibv_td {
  std::uint32_t users = 0;  // parent domains with it; guarded by mutex()
};

// A protection domain, or a parent domain: the same protection domain under another handle.
struct Domain : ibv_pd {
  ProtectionDomain number = 0;
  // Regions, address handles, queues and queue pairs in it, and its parent domains; guarded by
  // mutex().
  std::uint32_t users = 0;
  Domain* protection = nullptr;  // of a parent domain
  ThreadDomain* thread = nullptr;
  Opened opened;
};

// The functions that a context carries: ibv_alloc_td(3), ibv_alloc_parent_domain(3).
ibv_td* AllocateThreadDomain(ibv_context* context, ibv_td_init_attr* attr);
int FreeThreadDomain(ibv_td* thread);
ibv_pd* AllocateParentDomain(ibv_context* context, ibv_parent_domain_init_attr* attr);

struct AddressHandle : ibv_ah {
  std::uint16_t number = 0;
  Opened opened;
};

struct MemoryRegion : ibv_mr {
  Opened opened;
};

inline Context& ContextOf(const ibv_context* context) {
  constexpr std::size_t kOffset = offsetof(ContextHandle, verbs) + offsetof(verbs_context, context);
  const auto address = reinterpret_cast<std::uintptr_t>(context) - kOffset;
  return *reinterpret_cast<ContextHandle*>(address)->context;
}

// Held during a call.
class Calling {
 public:
  explicit Calling(const Context& context) : lock_(context.mutex()) {}

 private:
  const TerminationDelay termination_delay_;  // goes last
  const std::lock_guard<std::mutex> lock_;
};

// Held around the end of an object. A program may end from a signal that interrupted one of its own
// calls, and close everything on its way out: then the mutex never comes, and this is false after a
// second. In a forked child, where the objects are its parent's, it is false at once. The object
// goes with the process.
class Closing {
 public:
  explicit Closing(const Context& context) : lock_(context.mutex(), std::defer_lock) {
    if (context.host->usable()) LockSoon(lock_);
  }
  explicit operator bool() const { return lock_.owns_lock(); }

 private:
  const TerminationDelay termination_delay_;
  std::unique_lock<std::mutex> lock_;
};

// The environment's fault plan is asked at a call of the driver; an errno, or 0.
int AskPlan(const Context& context, fabric::faults::Point point);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_OBJECTS_H_
