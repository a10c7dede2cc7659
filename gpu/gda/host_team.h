// Threads of the host in the place of a GPU's: blocks, warps, barriers, and stores that linger.
//
//   RunTeams({.blocks = 2, .threads = 4}, stores, [&](HostTeam& team) { Body(arguments, team); });

#ifndef DRYDOCK_GPU_GDA_HOST_TEAM_H_
#define DRYDOCK_GPU_GDA_HOST_TEAM_H_

#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "drydock/gpu/gda/grid.h"
#include "drydock/gpu/gda/lingering_stores.h"

namespace drydock::gpu::gda {

// Threads of a stand-in's warp: fewer than a GPU's 32, so that a block of few threads has several.
inline constexpr unsigned kHostWarp = 2;

// What threads that meet share: all of a block, or those of one warp.
struct HostMeeting {
  explicit HostMeeting(unsigned threads) : barrier(static_cast<std::ptrdiff_t>(threads)) {}
  std::barrier<> barrier;
  std::uint32_t word = 0;
  std::atomic<std::uint32_t> sum{0};
  std::array<std::atomic<std::uint32_t>, 3> counts{};
  std::atomic<bool> denied{false};
};

struct HostBlock {
  HostBlock(unsigned threads, std::uint64_t stores_seed, unsigned number);

  HostMeeting all;
  std::vector<std::unique_ptr<HostMeeting>> warps;
  std::unique_ptr<LingeringBlock> stores;  // null: stores do not linger
};

// One thread among those of a meeting, as kernels.h and device/port.h see it.
class HostMembers {
 public:
  HostMembers(HostMeeting& meeting, LingeringStores* stores, unsigned rank, unsigned size)
      : meeting_(meeting), stores_(stores), rank_(rank), size_(size) {}

  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return size_; }
  void Sync() {
    if (stores_ != nullptr) stores_->BeforeBarrier();
    meeting_.barrier.arrive_and_wait();
  }
  std::uint32_t Broadcast(std::uint32_t value) {
    if (rank_ == 0) meeting_.word = value;
    Sync();
    const std::uint32_t all = meeting_.word;
    Sync();  // before the next one
    return all;
  }
  bool All(bool value) {
    if (!value) meeting_.denied = true;
    Sync();
    const bool all = !meeting_.denied;
    Sync();
    if (rank_ == 0) meeting_.denied = false;
    Sync();  // before the next one
    return all;
  }

 protected:
  HostMeeting& meeting_;
  LingeringStores* const stores_;
  const unsigned rank_;
  const unsigned size_;
};

// One thread of a block.
class HostTeam : public HostMembers {
 public:
  using WarpScope = HostMembers;

  HostTeam(HostBlock& block, LingeringStores* stores, unsigned number, Grid grid, unsigned rank)
      : HostMembers(block.all, stores, rank, grid.threads),
        block_(block),
        number_(number),
        grid_(grid) {}

  std::uint32_t block() const { return number_; }
  std::uint32_t blocks() const { return grid_.blocks; }
  std::uint32_t warps() const { return static_cast<std::uint32_t>(block_.warps.size()); }
  std::uint32_t warp_number() const { return rank_ / kHostWarp; }
  WarpScope Warp() {
    const unsigned first = rank_ / kHostWarp * kHostWarp;
    const unsigned left = grid_.threads - first;
    return {*block_.warps[rank_ / kHostWarp], stores_, rank_ - first,
            left < kHostWarp ? left : kHostWarp};
  }
  std::uint32_t Count(bool value) {
    // Three in turn: the one after the next is cleared while no thread uses it.
    std::atomic<std::uint32_t>& count = meeting_.counts[round_ % 3];
    if (value) ++count;
    Sync();
    const std::uint32_t all = count;
    if (rank_ == 0) meeting_.counts[(round_ + 2) % 3] = 0;
    ++round_;
    return all;
  }
  std::uint32_t Sum(std::uint32_t value) {
    meeting_.sum += value;
    Sync();
    return meeting_.sum;
  }

 private:
  HostBlock& block_;
  const unsigned number_;
  const Grid grid_;
  unsigned round_ = 0;
};

// Blocks that run. Ownership: the caller's; waits for them when it goes.
class HostTeams {
 public:
  using Body = std::function<void(HostTeam&)>;

  // `stores_seed`: which stores of payload linger, and for how long; 0: none.
  HostTeams(Grid grid, std::uint64_t stores_seed, Body body);
  HostTeams(const HostTeams&) = delete;
  HostTeams& operator=(const HostTeams&) = delete;
  ~HostTeams() { Join(); }
  void Join();

 private:
  const Body body_;
  std::vector<std::unique_ptr<HostBlock>> blocks_;
  std::vector<std::thread> threads_;
};

inline void RunTeams(Grid grid, std::uint64_t stores_seed, HostTeams::Body body) {
  HostTeams(grid, stores_seed, std::move(body)).Join();
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_HOST_TEAM_H_
