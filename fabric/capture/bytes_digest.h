// A digest of 128 bits for the bytes of a memory region: a capture has it for the end of a run, and
// a replay compares it. Not cryptographic.

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
