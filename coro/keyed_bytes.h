// Bytes that a key determines: a receiver that knows the key can check every byte that arrives.
//
//   FillKeyed(page.bytes(), page.number);              // the initiator
//   if (!HoldsKeyed(received, number)) return Fail();  // the target, without a copy of the page

#ifndef DRYDOCK_CORO_KEYED_BYTES_H_
#define DRYDOCK_CORO_KEYED_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace drydock::coro {

// Fills `bytes`, of any length and alignment, with the output of SplitMix64 (Steele, Lea, Flood
// 2014) that `key` seeds: words of 64 bits, least significant byte first, each byte made odd. None
// is zero, so that memory which was never written can be told. A shorter fill is the beginning of a
// longer one of its key. In one case of 128 a byte equals that of another key.
void FillKeyed(std::span<std::byte> bytes, std::uint64_t key);

// Whether `bytes` are those that FillKeyed puts there. True for no bytes. Stops at the first word
// that differs.
bool HoldsKeyed(std::span<const std::byte> bytes, std::uint64_t key);

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_KEYED_BYTES_H_
