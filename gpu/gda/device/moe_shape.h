// The size of a mixture of experts, and what its experts compute: for kernels, for programs of the
// host, and for the reference that both are checked against.

#ifndef DRYDOCK_GPU_GDA_DEVICE_MOE_SHAPE_H_
#define DRYDOCK_GPU_GDA_DEVICE_MOE_SHAPE_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/host_device.h"

namespace drydock::gpu::gda {

struct MoeShape {
  std::uint32_t ranks = 1;
  std::uint32_t tokens = 1;            // of each rank
  std::uint32_t top_k = 1;             // experts of a token; one of them twice is fine
  std::uint32_t experts_per_rank = 1;  // expert e is on rank e / experts_per_rank
  std::uint32_t words = 1;             // of a token, 4 bytes each

  DD_HOST_DEVICE std::uint32_t choices() const { return tokens * top_k; }
  DD_HOST_DEVICE std::uint32_t RankOf(std::uint32_t expert) const {
    return expert / experts_per_rank;
  }
};

// A choice that was dropped: it goes nowhere and adds nothing. The kernels of moe.h take none.
inline constexpr std::uint32_t kNoExpert = 0xFFFFFFFF;

// What expert `expert` makes of word `index` of a token.
DD_HOST_DEVICE inline std::uint32_t Expert(std::uint32_t expert, std::uint32_t index,
                                           std::uint32_t value) {
  return value * (2 * expert + 1) + (expert ^ index);
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_MOE_SHAPE_H_
