#include "drydock/sim/hosts/gid.h"

#include <unistd.h>

#include "absl/strings/str_format.h"
#include "drydock/sim/random.h"

namespace drydock::sim {
namespace {

constexpr std::size_t kFabricAt = 8;
constexpr std::size_t kFabricBytes = 5;
constexpr std::size_t kMarkAt = 13;
constexpr std::uint8_t kMark = 0xed;
constexpr std::size_t kMachineAt = 14;
constexpr std::size_t kNicAt = 15;

}  // namespace

std::uint64_t FabricNumber(absl::string_view fabric, std::uint64_t seed) {
  std::uint64_t hash = Mix(seed);
  for (const char letter : fabric) hash = Combine(hash, static_cast<unsigned char>(letter));
  return Combine(hash, fabric.size()) >> (64 - 8 * kFabricBytes);
}

std::string FabricFilePrefix() { return absl::StrFormat("drydock-efa-%u-", geteuid()); }

std::string FabricFileName(std::uint64_t fabric) {
  return absl::StrFormat("%s%010x", FabricFilePrefix(), fabric);
}

Gid GidOf(std::uint64_t fabric, NicPlace place) {
  Gid gid{};
  gid[0] = 0xfe;
  gid[1] = 0x80;
  for (std::size_t i = 0; i < kFabricBytes; ++i) {
    gid[kFabricAt + i] = static_cast<std::uint8_t>(fabric >> (8 * (kFabricBytes - 1 - i)));
  }
  gid[kMarkAt] = kMark;
  gid[kMachineAt] = place.machine;
  gid[kNicAt] = place.nic;
  return gid;
}

std::optional<std::uint64_t> FabricOf(const Gid& gid) {
  std::uint64_t fabric = 0;
  for (std::size_t i = 0; i < kFabricBytes; ++i) fabric = fabric << 8 | gid[kFabricAt + i];
  if (!PlaceOf(fabric, gid).has_value()) return std::nullopt;
  return fabric;
}

std::optional<NicPlace> PlaceOf(std::uint64_t fabric, const Gid& gid) {
  const NicPlace place{.machine = gid[kMachineAt], .nic = gid[kNicAt]};
  if (gid != GidOf(fabric, place)) return std::nullopt;
  return place;
}

}  // namespace drydock::sim
