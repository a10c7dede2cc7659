// Data that both sides of a transfer can make from a seed, so that the receiver can check every
// byte.

#ifndef DRYDOCK_APPS_COMMON_RANDOM_DATA_H_
#define DRYDOCK_APPS_COMMON_RANDOM_DATA_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace drydock::apps {

// Fills `bytes` with the output of MT19937-64, least significant byte first.
void FillRandom(std::span<std::byte> bytes, std::uint64_t seed);

// `count` distinct page numbers below `pages`, in random order. REQUIRES: count <= pages.
std::vector<std::uint32_t> ScatteredPages(std::uint64_t count, std::uint64_t pages,
                                          std::uint64_t seed);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_RANDOM_DATA_H_
