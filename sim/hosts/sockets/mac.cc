#include "drydock/sim/hosts/sockets/mac.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace drydock::sim {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they stand");

std::uint64_t WordAt(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

struct State {
  std::uint64_t a, b, c, d;

  void Round() {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  void Take(std::uint64_t word) {
    d ^= word;
    Round();
    Round();
    a ^= word;
  }
  std::uint64_t Finish() {
    for (int i = 0; i < 4; ++i) Round();
    return a ^ b ^ c ^ d;
  }
};

}  // namespace

Mac MacOf(const Key& key, std::span<const std::byte> bytes) {
  const std::uint64_t low = WordAt(key.data());
  const std::uint64_t high = WordAt(key.data() + 8);
  State state{.a = low ^ 0x736f6d6570736575ull,
              .b = high ^ 0x646f72616e646f6dull ^ 0xee,
              .c = low ^ 0x6c7967656e657261ull,
              .d = high ^ 0x7465646279746573ull};
  const std::size_t whole = bytes.size() / 8 * 8;
  for (std::size_t at = 0; at < whole; at += 8) state.Take(WordAt(bytes.data() + at));
  std::uint64_t last = std::uint64_t{bytes.size()} << 56;
  for (std::size_t i = whole; i < bytes.size(); ++i) {
    last |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * (i - whole));
  }
  state.Take(last);
  state.c ^= 0xee;
  const std::uint64_t first = state.Finish();
  state.b ^= 0xdd;
  const std::uint64_t second = state.Finish();
  Mac mac{};
  std::memcpy(mac.data(), &first, sizeof(first));
  std::memcpy(mac.data() + sizeof(first), &second, sizeof(second));
  return mac;
}

bool IsSame(const Mac& one, const Mac& other) {
  std::byte difference{};
  for (std::size_t i = 0; i < one.size(); ++i) difference |= one[i] ^ other[i];
  return difference == std::byte{};
}

}  // namespace drydock::sim
