// Bytes that a key determines: whoever knows the key can check every byte that arrives.

#ifndef DRYDOCK_CORO_KEYED_BYTES_H_
#define DRYDOCK_CORO_KEYED_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace drydock::coro {

// Fills `bytes`, of any length and alignment, with the output of SplitMix64 (Steele, Lea, Flood
// 2014) that `key` seeds: words of 64 bits, least significant byte first, each byte made odd. None
// is zero, so that memory which was never written can be told. A shorter fill is the beginning of a
// longer one of its key. A byte is that of another key by chance, in one case of 128.
void FillKeyed(std::span<std::byte> bytes, std::uint64_t key);

// Whether `bytes` are what FillKeyed would have put there.
bool HoldsKeyed(std::span<const std::byte> bytes, std::uint64_t key);

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_KEYED_BYTES_H_
