// The sizes of a scenario: how many machines, pages, rounds. Small numbers that a person may set,
// and that a shrinker makes smaller.

#ifndef DRYDOCK_SIM_EXPLORE_PARAMETERS_H_
#define DRYDOCK_SIM_EXPLORE_PARAMETERS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::sim::explore {

// One size that a scenario declares. Every number from least to most makes sense.
struct Parameter {
  std::string_view name;  // lower case, words joined by "_"
  std::uint64_t usual = 0;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::string_view meaning;  // a few words for a person
};

// Values by name: those that were set.
using Parameters = std::map<std::string, std::uint64_t>;

// kInvalidArgument, one line: a name that is not declared, or a value out of its range.
absl::Status CheckParameters(std::span<const Parameter> declared, const Parameters& values);

// A value for each declared parameter: the one that is set, else the usual one. REQUIRES:
// CheckParameters.
Parameters AllParameters(std::span<const Parameter> declared, const Parameters& values);

// "pages=4,page_bytes=64". kInvalidArgument: not of this form, or a name twice.
absl::StatusOr<Parameters> ParseParameters(absl::string_view text);
std::string FormatParameters(const Parameters& values);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_PARAMETERS_H_
