#include "apps/common/units.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace apps {

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
  const auto nanoseconds = static_cast<double>(duration.count());
  if (nanoseconds < 1e3) return absl::StrCat(duration.count(), " ns");
  if (nanoseconds < 1e6) return absl::StrFormat("%.3g us", nanoseconds / 1e3);
  if (nanoseconds < 1e9) return absl::StrFormat("%.3g ms", nanoseconds / 1e6);
  return absl::StrFormat("%.3g s", nanoseconds / 1e9);
}

std::string FormatRate(std::uint64_t bytes, coro::Duration duration) {
  if (duration <= coro::Duration::zero()) return "";
  const double gigabytes = static_cast<double>(bytes) / static_cast<double>(duration.count());
  return absl::StrFormat("%.3g GB/s (%.3g Gbit/s)", gigabytes, 8 * gigabytes);
}

}  // namespace apps
