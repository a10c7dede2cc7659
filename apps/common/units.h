// Figures as people read them. Sizes of memory are binary (MiB), rates are decimal (GB/s, Gbit/s),
// as the field has it.

#ifndef DRYDOCK_APPS_COMMON_UNITS_H_
#define DRYDOCK_APPS_COMMON_UNITS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/time.h"

namespace drydock::apps {

// "8 KiB", "1.5 MiB", "100 B": exact where it can be, otherwise one decimal.
std::string FormatBytes(std::uint64_t bytes);

// "850 ns", "12.3 us", "1.35 ms", "2.1 s": three significant digits.
std::string FormatDuration(coro::Duration duration);

// "11.8 GB/s (94.4 Gbit/s)", "320 B/s (2.56 kbit/s)"; empty when no time passed.
std::string FormatRate(std::uint64_t bytes, coro::Duration duration);

// "1 NIC", "4 NICs": for nouns whose plural takes an s.
std::string FormatCount(std::uint64_t count, absl::string_view noun);

// "64KiB", "1.5 MiB", "64 kB", "4096": bytes. kInvalidArgument: it is no size, or not a whole
// number of bytes.
absl::StatusOr<std::uint64_t> ParseBytes(absl::string_view text);

// The value of a flag that is such a size, or 0: its program says which sizes it takes.
struct ByteSize {
  std::uint64_t bytes = 0;
};
bool AbslParseFlag(absl::string_view text, ByteSize* size, std::string* error);
std::string AbslUnparseFlag(const ByteSize& size);

// What --timeout means: 1 ms to a day, in seconds. kInvalidArgument: another time.
absl::StatusOr<coro::Duration> ParseTimeout(double seconds);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_UNITS_H_
