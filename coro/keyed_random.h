// Random words that depend on the owner and the purpose of a draw, never on earlier draws: hashes
// of a key and a counter.
//
// The base of everything random that must be the same on every machine (sim/random.h,
// fabric/faults/engine.h). Integers only, and no distribution of the standard library: theirs
// differ between implementations.

#ifndef DRYDOCK_CORO_KEYED_RANDOM_H_
#define DRYDOCK_CORO_KEYED_RANDOM_H_

#include <cstdint>

namespace drydock::coro {

// Mixes 64 bits so that every input bit changes about half of the output bits (the finaliser of
// SplitMix64, Steele, Lea, Flood 2014).
constexpr std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Combines a key and one more word.
constexpr std::uint64_t Combine(std::uint64_t key, std::uint64_t word) {
  return Mix(key + 0x9e3779b97f4a7c15ull + Mix(word + 0x9e3779b97f4a7c15ull));
}

// A value from [0, bound). REQUIRES: bound > 0. The bias is below bound / 2^64.
constexpr std::uint64_t Below(std::uint64_t word, std::uint64_t bound) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(word) * bound) >> 64);
}

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_KEYED_RANDOM_H_
