#include "drydock/sim/checks/order_independence.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/sim/random.h"

namespace drydock::sim {

void StateHash::Add(std::uint64_t word) {
  digest_.low = Combine(digest_.low, word);
  digest_.high = Combine(digest_.high + digest_.low, word ^ 0x9fb21c651e98df25ull);
}

void StateHash::Add(std::span<const std::byte> bytes) {
  Add(std::uint64_t{bytes.size()});  // so that two neighbours are not one
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
    Add(word);
  }
}

std::optional<Finding> CheckOrderIndependence(
    std::uint64_t first_seed, std::uint64_t count,
    const std::function<std::optional<Digest>(std::uint64_t seed)>& run) {
  DD_CHECK(count > 0, "comparing no runs");
  std::optional<Digest> first;
  std::uint64_t first_with_state = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t seed = first_seed + i;
    const std::optional<Digest> state = run(seed);
    if (!state.has_value()) continue;
    if (!first.has_value()) {
      first = state;
      first_with_state = seed;
    }
    if (*state == *first) continue;
    Finding finding;
    finding.check = Check::kOrderIndependence;
    finding.where = "program";
    finding.what = absl::StrCat("its state at the end is ", first->ToHex(), " with seed ",
                                first_with_state, " and ", state->ToHex(), " with seed ", seed,
                                ": it depends on the order in which things arrived");
    return finding;
  }
  return std::nullopt;
}

}  // namespace drydock::sim
