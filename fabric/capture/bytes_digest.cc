#include "drydock/fabric/capture/bytes_digest.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_format.h"

namespace drydock::fabric::capture {
namespace {

// Odd constants with bits that look random: those of splitmix64 and its relatives.
constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15ull;
constexpr std::uint64_t kSecond = 0xbf58476d1ce4e5b9ull;
constexpr std::uint64_t kThird = 0x94d049bb133111ebull;

std::uint64_t Spread(std::uint64_t word) {
  word = (word ^ word >> 30) * kSecond;
  word = (word ^ word >> 27) * kThird;
  return word ^ word >> 31;
}

// Eight bytes as a little-endian number, on machines of either order.
std::uint64_t WordAt(const std::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

}  // namespace

std::string DigestOf(std::span<const std::byte> bytes) {
  std::uint64_t low = kFirst;
  std::uint64_t high = kSecond;
  const auto take = [&](std::uint64_t word) {
    low = std::rotl((low ^ word) * kFirst, 29);
    high = std::rotl(high + word * kThird, 31) ^ low;
  };
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) take(WordAt(bytes.data() + at));
  std::byte rest[8] = {};
  if (at < bytes.size()) std::memcpy(rest, bytes.data() + at, bytes.size() - at);
  take(WordAt(rest));
  take(bytes.size());
  return absl::StrFormat("%016x%016x", Spread(high ^ Spread(low)), Spread(low + high * kFirst));
}

}  // namespace drydock::fabric::capture
