#include "drydock/gpu/gda/host_team.h"

namespace drydock::gpu::gda {

HostBlock::HostBlock(unsigned threads, std::uint64_t stores_seed, unsigned number) : all(threads) {
  for (unsigned first = 0; first < threads; first += kHostWarp) {
    const unsigned left = threads - first;
    warps.push_back(std::make_unique<HostMeeting>(left < kHostWarp ? left : kHostWarp));
  }
  if (stores_seed != 0) stores = std::make_unique<LingeringBlock>(stores_seed, number);
}

HostTeams::HostTeams(Grid grid, std::uint64_t stores_seed, Body body) : body_(std::move(body)) {
  for (unsigned number = 0; number < grid.blocks; ++number) {
    blocks_.push_back(std::make_unique<HostBlock>(grid.threads, stores_seed, number));
  }
  for (unsigned number = 0; number < grid.blocks; ++number) {
    for (unsigned rank = 0; rank < grid.threads; ++rank) {
      threads_.emplace_back([this, number, grid, rank] {
        HostBlock& block = *blocks_[number];
        std::unique_ptr<LingeringStores> stores;
        if (block.stores != nullptr) {
          stores = std::make_unique<LingeringStores>(*block.stores, rank);
          stand_in_stores = stores.get();
        }
        HostTeam team(block, stores.get(), number, grid, rank);
        body_(team);
      });
    }
  }
}

void HostTeams::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  blocks_.clear();  // what lingered until now happens
}

}  // namespace drydock::gpu::gda
