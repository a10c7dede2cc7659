// 128 bits that stand for the bytes of a memory region: what a capture says of memory in the end,
// and a replay compares. Not cryptographic.

#ifndef DRYDOCK_FABRIC_CAPTURE_BYTES_DIGEST_H_
#define DRYDOCK_FABRIC_CAPTURE_BYTES_DIGEST_H_

#include <cstddef>
#include <span>
#include <string>

namespace drydock::fabric::capture {

// 32 hexadecimal digits. The same on every machine. The length is part of it.
std::string DigestOf(std::span<const std::byte> bytes);

}  // namespace drydock::fabric::capture

#endif  // DRYDOCK_FABRIC_CAPTURE_BYTES_DIGEST_H_
