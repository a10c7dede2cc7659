#include "drydock/sim/checks/source_hash.h"

#include <bit>
#include <cstring>

namespace drydock::sim {
namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;

std::uint64_t Load(const std::byte* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

// Both halves of a product, and its factors: where one factor is 0, as of a source that holds kOdd
// itself, the other is not forgotten.
std::uint64_t Fold(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return a ^ b ^ static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Four lanes of two words: a product is there after four cycles, and the next one may begin after
// one.
std::uint64_t HashShort(const std::byte* bytes, std::uint64_t length, std::uint64_t seed) {
  std::uint64_t a = seed + length;
  std::uint64_t b = ~seed;
  std::uint64_t c = seed ^ kOdd;
  std::uint64_t d = seed - kOdd;
  for (; length >= 64; bytes += 64, length -= 64) {
    a = Fold(a ^ Load(bytes), kOdd ^ Load(bytes + 8));
    b = Fold(b ^ Load(bytes + 16), kOdd ^ Load(bytes + 24));
    c = Fold(c ^ Load(bytes + 32), kOdd ^ Load(bytes + 40));
    d = Fold(d ^ Load(bytes + 48), kOdd ^ Load(bytes + 56));
  }
  for (; length >= 8; bytes += 8, length -= 8) a = std::rotl((a ^ Load(bytes)) * kOdd, 29);
  std::uint64_t rest = 0;
  if (length > 0) std::memcpy(&rest, bytes, length);
  a = std::rotl((a ^ rest) * kOdd, 29);
  return ((a * kOdd + b) * kOdd + c) * kOdd + d;
}

// Longer sources: sums, and sums of the sums, of sixteen interleaved sequences of words (Fletcher
// 1982, with words of 64 bits): a product would take longer than the load. A single word that
// changes always changes the sums, words that change places change the sums of sums.
constexpr std::uint64_t kBlockBytes = 128;
constexpr std::uint64_t kLanes = kBlockBytes / 8;

struct Sums {
  std::uint64_t first[kLanes] = {};
  std::uint64_t second[kLanes] = {};
};

// The loop, for vectors of `kBytes`; always inlined, so that it is compiled for its caller's
// processor.
template <int kBytes>
[[gnu::always_inline]] inline void SumBlocks(const std::byte* bytes, std::uint64_t blocks,
                                             Sums& sums) {
  using Vector [[gnu::vector_size(kBytes)]] = std::uint64_t;
  constexpr int kVectors = static_cast<int>(kBlockBytes) / kBytes;
  Vector first[kVectors];
  Vector second[kVectors];
  std::memcpy(first, sums.first, sizeof(first));
  std::memcpy(second, sums.second, sizeof(second));
  for (; blocks > 0; --blocks, bytes += kBlockBytes) {
#pragma GCC unroll 8  // else GCC's -O2 keeps the sums in memory, which takes three times as long
    for (int i = 0; i < kVectors; ++i) {
      Vector words;
      std::memcpy(&words, bytes + i * kBytes, kBytes);
      first[i] += words;
      second[i] += first[i];
    }
  }
  std::memcpy(sums.first, first, sizeof(first));
  std::memcpy(sums.second, second, sizeof(second));
}

void SumBlocksAnywhere(const std::byte* bytes, std::uint64_t blocks, Sums& sums) {
  SumBlocks<16>(bytes, blocks, sums);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void SumBlocksAvx2(const std::byte* bytes, std::uint64_t blocks,
                                           Sums& sums) {
  SumBlocks<32>(bytes, blocks, sums);
}
#endif

using SumFunction = void (*)(const std::byte*, std::uint64_t, Sums&);

SumFunction ChooseSum() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return SumBlocksAvx2;
#endif
  return SumBlocksAnywhere;
}

std::uint64_t HashLong(const std::byte* bytes, std::uint64_t length, std::uint64_t seed) {
  static const SumFunction sum = ChooseSum();
  Sums sums;
  const std::uint64_t blocks = length / kBlockBytes;
  sum(bytes, blocks, sums);
  const std::uint64_t done = blocks * kBlockBytes;
  const std::uint64_t of_sums =
      HashShort(reinterpret_cast<const std::byte*>(&sums), sizeof(sums), seed + length);
  return HashShort(bytes + done, length - done, of_sums);
}

constexpr std::uint64_t kLong = 1024;

}  // namespace

std::uint64_t HashSource(const std::byte* bytes, std::uint64_t length, std::uint64_t seed) {
  return length < kLong ? HashShort(bytes, length, seed) : HashLong(bytes, length, seed);
}

}  // namespace drydock::sim
