// The data that is transferred: both sides can make it from a seed, so that the client can check
// every byte.

#ifndef APPS_WRITE_RANDOM_DATA_H_
#define APPS_WRITE_RANDOM_DATA_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace apps::write {

// Fills `bytes` with the output of MT19937-64, least significant byte first. Region r of a transfer
// uses seed + r.
void FillRandom(std::span<std::byte> bytes, std::uint64_t seed);

// `count` distinct page numbers below `pages`, in random order. REQUIRES: count <= pages.
std::vector<std::uint32_t> ScatteredPages(std::uint64_t count, std::uint64_t pages,
                                          std::uint64_t seed);

}  // namespace apps::write

#endif  // APPS_WRITE_RANDOM_DATA_H_
