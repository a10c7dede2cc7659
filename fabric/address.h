// The address of an endpoint: opaque bytes that programs exchange as hexadecimal text.
//
// EFA: 32 bytes, 64 digits (GID 16 bytes, queue pair number 2, padding 2, qkey 4, padding 8). Other
// providers use other lengths: a socket address of 16 or 28 bytes for tcp, a name of up to 64 bytes
// for shm.

#ifndef DRYDOCK_FABRIC_ADDRESS_H_
#define DRYDOCK_FABRIC_ADDRESS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::fabric {

// A value: copy it freely. Thread-compatible.
class Address {
 public:
  static constexpr std::size_t kMaxBytes = 128;
  static constexpr std::size_t kEfaBytes = 32;

  // The empty address, which names no endpoint.
  constexpr Address() = default;

  // kInvalidArgument: empty, or longer than kMaxBytes.
  static absl::StatusOr<Address> FromBytes(std::span<const std::uint8_t> bytes);

  // Reads the hexadecimal form: an even number of digits, upper or lower case, and nothing else; no
  // "0x", no spaces. kInvalidArgument says what is wrong and where. The text may come from an
  // untrusted peer.
  static absl::StatusOr<Address> Parse(absl::string_view hex);

  // Two lower-case digits per byte.
  std::string ToHex() const;

  std::span<const std::uint8_t> bytes() const { return {bytes_.data(), size_}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  friend bool operator==(const Address&, const Address&) = default;

 private:
  std::array<std::uint8_t, kMaxBytes> bytes_{};  // zero past size_, so that equality is plain
  std::size_t size_ = 0;
};
static_assert(std::is_trivially_destructible_v<Address>);

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_ADDRESS_H_
