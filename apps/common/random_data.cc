#include "drydock/apps/common/random_data.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace drydock::apps {

void FillRandom(std::span<std::byte> bytes, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  while (!bytes.empty()) {
    const std::uint64_t word = generator();
    const std::size_t count = std::min<std::size_t>(bytes.size(), sizeof word);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(word >> (8 * i));
    bytes = bytes.subspan(count);
  }
}

std::vector<std::uint32_t> ScatteredPages(std::uint64_t count, std::uint64_t pages,
                                          std::uint64_t seed) {
  std::vector<std::uint32_t> indices(pages);
  std::iota(indices.begin(), indices.end(), 0u);
  // Not std::shuffle: its use of a generator differs between standard libraries.
  std::mt19937_64 generator(seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::swap(indices[i], indices[i + generator() % (pages - i)]);
  }
  indices.resize(count);
  return indices;
}

}  // namespace drydock::apps
