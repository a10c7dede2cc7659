#include "drydock/apps/common/units.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace drydock::apps {
namespace {

// Three significant digits without trailing zeros: "12.3", "850", "0.5". Never scientific.
std::string ThreeDigits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::string text = absl::StrFormat("%.*f", decimals, value);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

// In the largest unit that leaves at least one before the point. `units` go up by a factor of 1000.
template <std::size_t kCount>
std::string Scaled(double value, const std::array<const char*, kCount>& units) {
  std::size_t unit = 0;
  for (; unit + 1 < kCount && value >= 999.5; ++unit) value /= 1000;
  return absl::StrCat(ThreeDigits(value), " ", units[unit]);
}

}  // namespace

std::string FormatBytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  std::uint64_t scale = 1;
  while (unit + 1 < kUnits.size() && bytes >= scale * 1024) {
    scale *= 1024;
    ++unit;
  }
  if (bytes % scale == 0) return absl::StrCat(bytes / scale, " ", kUnits[unit]);
  return absl::StrFormat("%.1f %s", static_cast<double>(bytes) / static_cast<double>(scale),
                         kUnits[unit]);
}

std::string FormatDuration(coro::Duration duration) {
  constexpr std::array kUnits = {"ns", "us", "ms", "s"};
  return Scaled(static_cast<double>(duration.count()), kUnits);
}

std::string FormatRate(std::uint64_t bytes, coro::Duration duration) {
  if (duration <= coro::Duration::zero()) return "";
  constexpr std::array kBytes = {"B/s", "kB/s", "MB/s", "GB/s"};
  constexpr std::array kBits = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s"};
  const double rate = static_cast<double>(bytes) * 1e9 / static_cast<double>(duration.count());
  return absl::StrCat(Scaled(rate, kBytes), " (", Scaled(8 * rate, kBits), ")");
}

std::string FormatCount(std::uint64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

absl::StatusOr<std::uint64_t> ParseBytes(absl::string_view text) {
  struct Unit {
    absl::string_view name;
    double bytes;
  };
  constexpr double kKibi = 1024;
  constexpr Unit kUnits[] = {{"KiB", kKibi},
                             {"MiB", kKibi * kKibi},
                             {"GiB", kKibi * kKibi * kKibi},
                             {"TiB", kKibi * kKibi * kKibi * kKibi},
                             {"kB", 1e3},
                             {"MB", 1e6},
                             {"GB", 1e9},
                             {"TB", 1e12},
                             {"B", 1}};
  absl::string_view number = absl::StripAsciiWhitespace(text);
  double unit = 1;
  for (const Unit& known : kUnits) {
    if (!absl::EndsWith(number, known.name)) continue;
    number.remove_suffix(known.name.size());
    unit = known.bytes;
    break;
  }
  double value = 0;
  const bool is_number = absl::SimpleAtod(absl::StripAsciiWhitespace(number), &value);
  const double bytes = value * unit;
  if (is_number && bytes > 1e15) {
    return absl::InvalidArgumentError(absl::StrCat(text, " is more than any size here"));
  }
  if (!is_number || !(bytes >= 1) || bytes != std::floor(bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, " is no size: 4096, 64KiB and 1.5MiB are"));
  }
  return static_cast<std::uint64_t>(bytes);
}

bool AbslParseFlag(absl::string_view text, ByteSize* size, std::string* error) {
  const absl::StatusOr<std::uint64_t> bytes = text == "0" ? 0 : ParseBytes(text);
  if (bytes.ok()) {
    size->bytes = *bytes;
  } else {
    *error = std::string(bytes.status().message());
  }
  return bytes.ok();
}

std::string AbslUnparseFlag(const ByteSize& size) { return absl::StrCat(size.bytes); }

absl::StatusOr<coro::Duration> ParseTimeout(double seconds) {
  if (!(seconds >= 0.001 && seconds <= 86400)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--timeout=", seconds, " is not between 0.001 and 86400 seconds"));
  }
  return std::chrono::duration_cast<coro::Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace drydock::apps
