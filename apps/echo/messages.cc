#include "drydock/apps/echo/messages.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/units.h"

namespace drydock::apps::echo {
namespace {

std::byte ByteAt(std::uint64_t number, std::size_t offset) {
  return static_cast<std::byte>(number * 7 + offset * 31 + (offset >> 8));
}

}  // namespace

void EchoReport::Add(coro::Duration round_trip) {
  ++round_trips;
  total += round_trip;
  fastest = std::min(fastest, round_trip);
}

std::string Describe(const EchoReport& report, const EchoOptions& options) {
  std::string text =
      absl::StrCat(report.round_trips, " round trips of ", FormatBytes(options.message_bytes));
  if (report.round_trips == 0) return text;
  const auto trips = static_cast<std::int64_t>(report.round_trips);
  absl::StrAppend(&text, ", ", FormatBytes(report.round_trips * options.message_bytes),
                  " each way in ", FormatDuration(report.total), ": ",
                  FormatDuration(report.total / trips), " each, ", FormatDuration(report.fastest),
                  " at best");
  return text;
}

void FillMessage(std::uint64_t number, std::span<std::byte> message) {
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = ByteAt(number, i);
}

absl::Status CheckMessage(std::uint64_t number, std::span<const std::byte> message,
                          std::uint64_t expected_bytes) {
  if (message.size() != expected_bytes) {
    return absl::DataLossError(absl::StrCat("message ", number, " came back with ", message.size(),
                                            " of ", expected_bytes, " bytes"));
  }
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (message[i] == ByteAt(number, i)) continue;
    return absl::DataLossError(
        absl::StrCat("message ", number, " came back wrong, from byte ", i, " on"));
  }
  return absl::OkStatus();
}

}  // namespace drydock::apps::echo
