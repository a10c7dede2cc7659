// Rising numbers as text: "3,7-9".

#ifndef DRYDOCK_SIM_EXPLORE_RANGES_H_
#define DRYDOCK_SIM_EXPLORE_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::sim::explore {

// REQUIRES: the numbers rise. Empty for none.
std::string FormatRanges(const std::vector<std::uint64_t>& numbers);

// The inverse. kInvalidArgument: not of this form, numbers that do not rise, or more than `most`.
absl::StatusOr<std::vector<std::uint64_t>> ParseRanges(absl::string_view text, std::size_t most);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_RANGES_H_
