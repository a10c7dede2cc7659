#include "drydock/apps/doctor/version.h"

#include <array>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace drydock::apps::doctor {

std::optional<Version> ParseVersion(absl::string_view text) {
  std::array<std::uint32_t, 3> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::size_t digits = 0;
    while (digits < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[digits]))) {
      ++digits;
    }
    if (!absl::SimpleAtoi(text.substr(0, digits), &parts[i])) {
      if (i == 0) return std::nullopt;
      break;
    }
    text.remove_prefix(digits);
    if (text.empty() || text[0] != '.') break;
    text.remove_prefix(1);
  }
  return Version{parts[0], parts[1], parts[2]};
}

std::string FormatVersion(const Version& version, int parts) {
  const std::string text = absl::StrCat(version.major, ".", version.minor);
  if (parts == 2 && version.patch == 0) return text;
  return absl::StrCat(text, ".", version.patch);
}

}  // namespace drydock::apps::doctor
