// Makes and checks gpu/pattern.h on the device. Compiled to PTX, which the driver compiles again
// for the GPU that is there.

#include <cstdint>

#include "drydock/gpu/pattern.h"

namespace {

__device__ std::uint64_t Stride() { return std::uint64_t{gridDim.x} * blockDim.x; }
__device__ std::uint64_t Self() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

}  // namespace

extern "C" __global__ void FillPattern(std::uint64_t* target, std::uint64_t words,
                                       std::uint64_t seed, std::uint64_t first) {
  for (std::uint64_t i = Self(); i < words; i += Stride()) {
    target[i] = drydock::gpu::PatternWord(seed, first + i);
  }
}

// result[0] counts the wrong words, result[1] becomes the least index of one.
extern "C" __global__ void VerifyPattern(const std::uint64_t* source, std::uint64_t words,
                                         std::uint64_t seed, std::uint64_t first,
                                         unsigned long long* result) {
  for (std::uint64_t i = Self(); i < words; i += Stride()) {
    if (source[i] == drydock::gpu::PatternWord(seed, first + i)) continue;
    atomicAdd(&result[0], 1ull);
    atomicMin(&result[1], static_cast<unsigned long long>(i));
  }
}
