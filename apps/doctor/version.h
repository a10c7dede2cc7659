// Versions as the field writes them: "1.17.0", "2.17.3g", "6.1.0-1018-aws", "44".

#ifndef DRYDOCK_APPS_DOCTOR_VERSION_H_
#define DRYDOCK_APPS_DOCTOR_VERSION_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace drydock::apps::doctor {

struct Version {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t patch = 0;

  auto operator<=>(const Version&) const = default;
};

// The numbers that the text begins with, up to three; what follows them is ignored. None where it
// begins with no number.
std::optional<Version> ParseVersion(absl::string_view text);

// "1.17.0"; without a patch of zero where `parts` is 2: "1.17".
std::string FormatVersion(const Version& version, int parts = 3);

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_VERSION_H_
