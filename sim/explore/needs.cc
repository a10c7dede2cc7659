#include "drydock/sim/explore/needs.h"

#include <algorithm>
#include <bit>

#include "drydock/coro/keyed_random.h"

namespace drydock::sim::explore {
namespace {

constexpr std::uint64_t kNeeds = 0x6e65656473;

}  // namespace

Profile WithLittleMore(const Profile& profile, const Needs& needs, std::uint64_t seed) {
  std::uint64_t key = coro::Combine(kNeeds, seed);
  const auto draw = [&key](std::uint64_t bound) {
    return coro::Below(key = coro::Mix(key), bound);
  };
  const auto lower = [&](std::uint32_t& limit, std::uint64_t needed) {
    limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, needed + draw(3)));
  };
  Profile tight = profile;
  lower(tight.device.max_mr, needs.registrations);
  lower(tight.device.max_ah, needs.address_handles);
  lower(tight.device.max_cq, needs.completion_queues);
  const std::uint64_t entries = std::bit_ceil(std::max<std::uint64_t>(needs.completions, 1))
                                << draw(2);
  tight.device.max_cq_depth =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(tight.device.max_cq_depth, entries));
  tight.limits = EfaDirectLimits(tight);
  return tight;
}

}  // namespace drydock::sim::explore
