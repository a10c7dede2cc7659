// What a mixture of experts is given, and what has to come of it: computed on the host, by the rank
// that the tokens are of, without any other.
//
//   const MoeInput input = DrawMoeInput(shape, /*rank=*/2, seed);
//   const std::vector<std::uint32_t> right = MoeResult(shape, input);
//
// Values are integers of 32 bits, and sums are modulo 2^32: whatever order answers are summed in, a
// right result is the same to the bit.

#ifndef DRYDOCK_GPU_GDA_MOE_REFERENCE_H_
#define DRYDOCK_GPU_GDA_MOE_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "drydock/gpu/gda/device/moe_shape.h"

namespace drydock::gpu::gda {

// Of one rank. Choice c is token c / top_k's.
struct MoeInput {
  std::vector<std::uint32_t> tokens;   // words, a row each
  std::vector<std::uint32_t> table;    // the expert of each choice, or kNoExpert
  std::vector<std::uint32_t> weights;  // of each choice
};

// By seed and rank. Any expert of any rank is as likely; none is kNoExpert.
MoeInput DrawMoeInput(const MoeShape& shape, std::uint32_t rank, std::uint64_t seed);

// For each token the sum of its experts' answers, each times its weight: a row for each token.
std::vector<std::uint32_t> MoeResult(const MoeShape& shape, const MoeInput& input);

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_MOE_REFERENCE_H_
