// 128 bits that stand for the bytes of a memory region: what a capture says of memory in the end,
// and a replay compares. Not cryptographic.

#ifndef FABRIC_CAPTURE_BYTES_DIGEST_H_
#define FABRIC_CAPTURE_BYTES_DIGEST_H_

#include <cstddef>
#include <span>
#include <string>

namespace fabric::capture {

// 32 hexadecimal digits. The same on every machine. The length is part of it.
std::string DigestOf(std::span<const std::byte> bytes);

}  // namespace fabric::capture

#endif  // FABRIC_CAPTURE_BYTES_DIGEST_H_
