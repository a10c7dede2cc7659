// The wire format of requests and responses: a header with a version, and the payload's bytes.
//
//   struct ReadBlock {
//     static constexpr std::uint32_t kMessageType = 1;
//     std::uint64_t block;
//   };
//
// A payload is copied as it is: padding included, in this machine's byte order (the magic number
// tells another one). Any bytes may come from a peer: members must be of types of which every bit
// pattern is a value, so integers, floating point and arrays of them, and no bool and no pointer.

#ifndef DRYDOCK_FABRIC_ASYNC_REQUEST_MESSAGE_H_
#define DRYDOCK_FABRIC_ASYNC_REQUEST_MESSAGE_H_

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace drydock::fabric::async {

// A type that travels. Its number tells it from every other one of the same channel; a type whose
// members change gets another.
template <typename T>
concept Payload = std::is_trivially_copyable_v<T> && requires {
  { T::kMessageType } -> std::convertible_to<std::uint32_t>;
};

enum class RequestMessageKind : std::uint16_t {
  kRequest = 1,
  kResponse = 2,
  kError = 3,  // in place of a response; its payload: a code, and words
};

// 32 bytes, without padding.
struct RequestHeader {
  static constexpr std::uint32_t kMagic = 0x51455244;  // "DREQ"
  static constexpr std::uint16_t kVersion = 1;

  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  RequestMessageKind kind = RequestMessageKind::kRequest;
  std::uint64_t session = 0;  // which client
  std::uint64_t number = 0;   // which of its calls
  std::uint32_t type = 0;     // of the payload
  std::uint32_t length = 0;   // of the payload, in bytes
};
static_assert(sizeof(RequestHeader) == 32 && std::is_trivially_copyable_v<RequestHeader>);

struct RequestMessage {
  RequestHeader header;
  std::span<const std::byte> payload;  // within the bytes that were decoded
};

// Writes header and payload to `room`, and returns how many bytes. The header's length is set here.
// REQUIRES: there is room.
std::size_t EncodeRequest(RequestHeader header, std::span<const std::byte> payload,
                          std::span<std::byte> room);

// kInvalidArgument: truncated, too long, or no message of this version. Safe for any bytes.
absl::StatusOr<RequestMessage> DecodeRequest(std::span<const std::byte> bytes);

// An error as payload, cut to the room that there is, and back. Reading is safe for any bytes, and
// never yields OK: an error without a known code is kUnknown, and unprintable bytes come escaped.
// REQUIRES: room for four bytes.
std::size_t EncodeError(const absl::Status& error, std::span<std::byte> room);
absl::Status DecodeError(std::span<const std::byte> payload);

// REQUIRES: as many bytes as T has.
template <Payload T>
T FromPayload(std::span<const std::byte> payload) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), payload.data(), sizeof(T));
  return std::bit_cast<T>(bytes);
}

template <Payload T>
std::span<const std::byte> ToPayload(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_REQUEST_MESSAGE_H_
