// Stores of a stand-in GPU's threads that a NIC sees late: some wait, as the seed says, until a fence
// of the system's scope that covers them, or until the kernel ends.
//
//   thread  Store ──► its own list ── BeforeBarrier ──► the block's list
//           Fence: its own list and the block's happen      a GPU's fence is cumulative, too
//
// A GPU promises no less: without a fence, a store of one thread may become visible to the system
// at any time, in any order. What a block's threads see of each other after a barrier is not late.

#ifndef DRYDOCK_GPU_GDA_LINGERING_STORES_H_
#define DRYDOCK_GPU_GDA_LINGERING_STORES_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "drydock/coro/keyed_random.h"
#include "drydock/gpu/gda/queue/stand_in_stores.h"

namespace drydock::gpu::gda {

struct LingeringStore {
  unsigned char* where = nullptr;
  std::uint64_t value = 0;
  unsigned bytes = 0;
};

// Those of a block, by threads that have met at a barrier since. Thread-safe.
class LingeringBlock {
 public:
  LingeringBlock(std::uint64_t seed, unsigned block) : key_(coro::Combine(seed, block)) {}
  LingeringBlock(const LingeringBlock&) = delete;
  LingeringBlock& operator=(const LingeringBlock&) = delete;
  ~LingeringBlock() { Happen(); }

  std::uint64_t key() const { return key_; }
  void Take(std::vector<LingeringStore>& stores);
  void Happen();
  bool Holds(const unsigned char* where, unsigned count);
  // The bytes at `where` with what lingers over them.
  void Read(const unsigned char* where, unsigned char* bytes, unsigned count);

 private:
  const std::uint64_t key_;
  std::mutex mutex_;
  std::vector<LingeringStore> stores_;
};

// One thread's.
class LingeringStores final : public StandInStores {
 public:
  LingeringStores(LingeringBlock& block, unsigned rank)
      : block_(block), key_(coro::Combine(block.key(), rank)) {}
  ~LingeringStores() override { block_.Take(stores_); }

  void Store(void* where, std::uint64_t value, unsigned bytes) override;
  std::uint64_t Load(const void* where, unsigned bytes) override;
  void Fence() override;
  // The others of the meeting see what this thread has stored.
  void BeforeBarrier() { block_.Take(stores_); }

 private:
  LingeringBlock& block_;
  const std::uint64_t key_;
  std::uint64_t count_ = 0;  // of stores
  std::vector<LingeringStore> stores_;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_LINGERING_STORES_H_
