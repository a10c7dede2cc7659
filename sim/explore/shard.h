// One of several equal parts of the seeds of an exploration, for many machines: each runs its part,
// and knows of no other.

#ifndef DRYDOCK_SIM_EXPLORE_SHARD_H_
#define DRYDOCK_SIM_EXPLORE_SHARD_H_

#include <cstdint>

namespace drydock::sim::explore {

// Number `index` of `count`, from 0 on.
struct Shard {
  std::uint64_t index = 0;
  std::uint64_t count = 1;

  friend bool operator==(const Shard&, const Shard&) = default;
};

// Seeds that follow each other.
struct SeedSpan {
  std::uint64_t first = 1;
  std::uint64_t seeds = 0;

  // The last one. REQUIRES: seeds > 0.
  std::uint64_t last() const { return first + (seeds - 1); }
  friend bool operator==(const SeedSpan&, const SeedSpan&) = default;
};

// The seeds of `all` that are the shard's. Parts differ by one seed at most, follow each other, and
// are empty where there are more shards than seeds. REQUIRES: shard.index < shard.count, and the
// last seed of `all` is below 2^64.
constexpr SeedSpan PartOf(const SeedSpan& all, const Shard& shard) {
  const auto begin = [&](std::uint64_t index) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(all.seeds) * index /
                                      shard.count);
  };
  const std::uint64_t from = begin(shard.index);
  return {all.first + from, begin(shard.index + 1) - from};
}

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_SHARD_H_
