// The data that devices make and check by themselves: any word of it can be computed alone, so that
// thousands of threads work at once.

#ifndef DRYDOCK_GPU_PATTERN_H_
#define DRYDOCK_GPU_PATTERN_H_

#include <cstdint>

#ifdef __CUDACC__
#define GPU_HOST_DEVICE __host__ __device__
#else
#define GPU_HOST_DEVICE
#endif

namespace drydock::gpu {

// Word `index` of the stream of `seed`: SplitMix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014), which reaches any of its outputs in one step.
GPU_HOST_DEVICE constexpr std::uint64_t PatternWord(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_PATTERN_H_
