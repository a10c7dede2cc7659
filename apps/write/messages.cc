#include "drydock/apps/write/messages.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/common/wire.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/printable.h"

namespace drydock::apps::write {
namespace {

constexpr std::uint32_t kMagic = 0x4b434f44;  // "DOCK"
constexpr std::uint16_t kVersion = 3;

constexpr std::uint16_t kConnect = 1, kRandomFill = 2, kRefused = 3;  // types

// Bytes of a RandomFillMessage without its page indices.
constexpr std::size_t kFixedRequestBytes = 4 + 2 + 2 + 8 + 4 + 1 + 8 + 8 + 4;
constexpr std::size_t kMostPages = (kMessageBytes - kFixedRequestBytes) / sizeof(std::uint32_t);

absl::Status Corrupt(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("corrupt message: ", what));
}

WireWriter Begin(std::uint16_t type, std::uint64_t session) {
  WireWriter writer;
  writer.Number(kMagic);
  writer.Number(kVersion);
  writer.Number(type);
  writer.Number(session);
  return writer;
}

struct Encoder {
  std::vector<std::byte> operator()(const ConnectMessage& message) const {
    WireWriter writer = Begin(kConnect, message.session);
    writer.Part(std::as_bytes(message.address.bytes()));
    for (const RemoteRegion& region : message.regions) {
      writer.Number(region.remote.address);
      writer.Number(region.length_bytes);
      writer.Number(region.remote.key);
    }
    return writer.Take();
  }
  std::vector<std::byte> operator()(const RandomFillMessage& message) const {
    WireWriter writer = Begin(kRandomFill, message.session);
    writer.Number(message.remote_context);
    writer.Number(static_cast<std::uint8_t>(message.completion));
    writer.Number(message.data_seed);
    writer.Number(message.page_bytes);
    writer.Number(static_cast<std::uint32_t>(message.page_indices.size()));
    for (const std::uint32_t index : message.page_indices) writer.Number(index);
    return writer.Take();
  }
  std::vector<std::byte> operator()(const RefusedMessage& message) const {
    WireWriter writer = Begin(kRefused, message.session);
    writer.Part(message.reason);
    return writer.Take();
  }
};

absl::StatusOr<Message> DecodeConnect(WireReader& reader, std::uint64_t session) {
  ConnectMessage message{.session = session};
  const std::span<const std::byte> address = reader.Part();
  absl::StatusOr<fabric::Address> parsed = fabric::Address::FromBytes(
      {reinterpret_cast<const std::uint8_t*>(address.data()), address.size()});
  for (RemoteRegion& region : message.regions) {
    region.remote.address = reader.Number<std::uint64_t>();
    region.length_bytes = reader.Number<std::uint64_t>();
    region.remote.key = reader.Number<std::uint64_t>();
  }
  if (!reader.ok()) return Corrupt("CONNECT is truncated");
  if (!parsed.ok()) return Corrupt(absl::StrCat("CONNECT: ", parsed.status().message()));
  message.address = *parsed;
  return message;
}

absl::StatusOr<Message> DecodeFill(WireReader& reader, std::uint64_t session) {
  RandomFillMessage message{.session = session};
  message.remote_context = reader.Number<std::uint32_t>();
  const auto completion = reader.Number<std::uint8_t>();
  message.data_seed = reader.Number<std::uint64_t>();
  message.page_bytes = reader.Number<std::uint64_t>();
  const auto page_count = reader.Number<std::uint32_t>();
  if (!reader.ok()) return Corrupt("REQUEST is truncated");
  if (completion > static_cast<std::uint8_t>(CompletionMode::kLast)) {
    return Corrupt(absl::StrCat("REQUEST has completion mode ", completion));
  }
  message.completion = static_cast<CompletionMode>(completion);
  if (reader.remaining() != std::size_t{page_count} * sizeof(std::uint32_t)) {
    return Corrupt(absl::StrCat("REQUEST names ", page_count, " pages and has ", reader.remaining(),
                                " bytes of indices"));
  }
  message.page_indices.resize(page_count);
  for (std::uint32_t& index : message.page_indices) index = reader.Number<std::uint32_t>();
  return message;
}

absl::StatusOr<Message> DecodeRefused(WireReader& reader, std::uint64_t session) {
  const absl::string_view reason = reader.Text();
  if (!reader.ok()) return Corrupt("REFUSED is truncated");
  return RefusedMessage{.session = session, .reason = fabric::Printable(reason)};
}

}  // namespace

std::vector<std::byte> Encode(const Message& message) { return std::visit(Encoder(), message); }

absl::StatusOr<Message> Decode(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  const auto magic = reader.Number<std::uint32_t>();
  const auto version = reader.Number<std::uint16_t>();
  const auto type = reader.Number<std::uint16_t>();
  const auto session = reader.Number<std::uint64_t>();
  if (!reader.ok()) return Corrupt(absl::StrCat(bytes.size(), " bytes are too short for a header"));
  if (magic != kMagic) return Corrupt("it is not one of ours");
  if (version != kVersion) {
    return Corrupt(absl::StrCat("version ", version, ", this program speaks ", kVersion));
  }
  absl::StatusOr<Message> message = Corrupt(absl::StrCat("type ", type, " does not exist"));
  if (type == kConnect) message = DecodeConnect(reader, session);
  if (type == kRandomFill) message = DecodeFill(reader, session);
  if (type == kRefused) message = DecodeRefused(reader, session);
  if (message.ok() && reader.remaining() > 0) {
    return Corrupt(absl::StrCat(reader.remaining(), " bytes too many"));
  }
  return message;
}

const char* NameOf(CompletionMode mode) {
  return mode == CompletionMode::kCount ? "count" : "last";
}

std::string Describe(const RandomFillMessage& request) {
  return absl::StrFormat(
      "%u pages of %s into each of %u regions, data seed %#x, remote context %#x, completion %s",
      request.page_indices.size(), FormatBytes(request.page_bytes), kRegionCount, request.data_seed,
      request.remote_context, NameOf(request.completion));
}

std::uint64_t ExpectedAnnouncements(const RandomFillMessage& request) {
  return request.completion == CompletionMode::kCount ? kRegionCount * request.page_indices.size()
                                                      : 1;
}

absl::Status CheckRequest(const PageList& list, std::uint64_t region_bytes) {
  if (list.page_indices.size() > kMostPages) {
    return absl::InvalidArgumentError(absl::StrCat(
        list.page_indices.size(), " page indices do not fit a message: at most ", kMostPages));
  }
  return CheckPages(list, region_bytes);
}

}  // namespace drydock::apps::write
