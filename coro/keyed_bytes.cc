#include "drydock/coro/keyed_bytes.h"

#include <bit>
#include <cstring>

#include "drydock/coro/keyed_random.h"

namespace drydock::coro {
namespace {

static_assert(std::endian::native == std::endian::little, "words are copied as they are");

constexpr std::size_t kWord = sizeof(std::uint64_t);

std::uint64_t WordOf(std::uint64_t key, std::size_t index) {
  return Mix(key + (index + 1) * 0x9e3779b97f4a7c15ull) | 0x0101010101010101ull;
}

}  // namespace

void FillKeyed(std::span<std::byte> bytes, std::uint64_t key) {
  const std::size_t words = bytes.size() / kWord;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t word = WordOf(key, i);
    std::memcpy(bytes.data() + i * kWord, &word, kWord);
  }
  const std::span<std::byte> rest = bytes.subspan(words * kWord);
  const std::uint64_t last = WordOf(key, words);
  if (!rest.empty()) std::memcpy(rest.data(), &last, rest.size());
}

bool HoldsKeyed(std::span<const std::byte> bytes, std::uint64_t key) {
  const std::size_t words = bytes.size() / kWord;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t word = WordOf(key, i);
    if (std::memcmp(bytes.data() + i * kWord, &word, kWord) != 0) return false;
  }
  const std::span<const std::byte> rest = bytes.subspan(words * kWord);
  const std::uint64_t last = WordOf(key, words);
  return rest.empty() || std::memcmp(rest.data(), &last, rest.size()) == 0;
}

}  // namespace drydock::coro
