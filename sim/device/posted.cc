#include "drydock/sim/device/posted.h"

#include "absl/strings/str_cat.h"

namespace drydock::sim {
namespace {

// User-space addresses are beyond it; indexes, and slots with a small generation, mostly below or
// far above.
bool LooksLikeAnAddress(const Posted& posted) {
  constexpr std::uint64_t kLowest = std::uint64_t{1} << 40;
  constexpr std::uint64_t kHighest = std::uint64_t{1} << 48;
  const auto number = static_cast<std::uint64_t>(posted.context);
  return number >= kLowest && number < kHighest && number % alignof(void*) == 0;
}

}  // namespace

std::string ToText(const Posted& posted) {
  std::string text =
      absl::StrCat(std::string(fabric::Name(posted.kind)), " of ", posted.length, " bytes");
  if (!posted.signalled) {
    absl::StrAppend(&text, " without a context");
  } else if (LooksLikeAnAddress(posted)) {
    absl::StrAppend(&text, " with an address as its context");
  } else {
    absl::StrAppend(&text, " with context ", static_cast<std::uint64_t>(posted.context));
  }
  if (posted.has_immediate) absl::StrAppend(&text, " and immediate ", posted.immediate);
  return text;
}

}  // namespace drydock::sim
