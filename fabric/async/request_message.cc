#include "drydock/fabric/async/request_message.h"

#include <algorithm>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"

namespace drydock::fabric::async {
namespace {

constexpr std::uint32_t kHighestStatus = 16;  // kUnauthenticated

absl::Status Corrupt(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("corrupt message: ", what));
}

}  // namespace

std::size_t EncodeRequest(RequestHeader header, std::span<const std::byte> payload,
                          std::span<std::byte> room) {
  DD_CHECK(room.size() >= sizeof(header) && payload.size() <= room.size() - sizeof(header),
           "a payload longer than its channel takes");
  header.length = static_cast<std::uint32_t>(payload.size());
  std::memcpy(room.data(), &header, sizeof(header));
  std::copy(payload.begin(), payload.end(), room.begin() + sizeof(header));
  return sizeof(header) + payload.size();
}

absl::StatusOr<RequestMessage> DecodeRequest(std::span<const std::byte> bytes) {
  RequestMessage message;
  if (bytes.size() < sizeof(message.header)) return Corrupt("shorter than its header");
  // Into bytes that are an object of this type whatever they are: an unknown kind is a value too.
  std::memcpy(&message.header, bytes.data(), sizeof(message.header));
  message.payload = bytes.subspan(sizeof(message.header));
  if (message.header.magic != RequestHeader::kMagic) return Corrupt("no request or response");
  if (message.header.version != RequestHeader::kVersion) {
    return Corrupt(absl::StrCat("version ", message.header.version));
  }
  if (message.header.length != message.payload.size()) {
    return Corrupt(
        absl::StrCat(message.payload.size(), " bytes of payload, not ", message.header.length));
  }
  return message;
}

std::size_t EncodeError(const absl::Status& error, std::span<std::byte> room) {
  const auto code = static_cast<std::uint32_t>(error.code());
  DD_CHECK(!error.ok() && room.size() >= sizeof(code), "an error without room for its code");
  std::memcpy(room.data(), &code, sizeof(code));
  const auto text = std::as_bytes(std::span(error.message().data(), error.message().size()));
  const std::size_t length = std::min(text.size(), room.size() - sizeof(code));
  std::copy_n(text.begin(), length, room.begin() + sizeof(code));
  return sizeof(code) + length;
}

absl::Status DecodeError(std::span<const std::byte> payload) {
  std::uint32_t code = 0;
  if (payload.size() < sizeof(code)) return absl::UnknownError("peer: an error without a code");
  std::memcpy(&code, payload.data(), sizeof(code));
  const auto text = payload.subspan(sizeof(code));
  const std::string words =
      absl::CHexEscape(absl::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
  if (code == 0 || code > kHighestStatus) {
    return absl::UnknownError(absl::StrCat("peer: error ", code, ": ", words));
  }
  return absl::Status(static_cast<absl::StatusCode>(code), absl::StrCat("peer: ", words));
}

}  // namespace drydock::fabric::async
