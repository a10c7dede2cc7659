// The stores of a stand-in GPU's thread that linger on their way, as a GPU's may until a fence.

#ifndef DRYDOCK_GPU_GDA_QUEUE_STAND_IN_STORES_H_
#define DRYDOCK_GPU_GDA_QUEUE_STAND_IN_STORES_H_

#include <cstdint>

namespace drydock::gpu::gda {

// One thread's. Threads: the one it belongs to.
class StandInStores {
 public:
  virtual ~StandInStores() = default;

  // Stores the low `bytes` bytes (1 to 8) of `value`, at once or later.
  virtual void Store(void* where, std::uint64_t value, unsigned bytes) = 0;
  // What this thread sees at `where`, which holds `bytes` bytes (1 to 8): its own stores, and those
  // of its block before their last barrier, however they linger.
  virtual std::uint64_t Load(const void* where, unsigned bytes) = 0;
  // Every store of this thread, and those of its block before their last barrier, has happened.
  virtual void Fence() = 0;
};

// Of the calling thread; null: its stores are the processor's.
inline thread_local StandInStores* stand_in_stores = nullptr;

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_QUEUE_STAND_IN_STORES_H_
