#include "drydock/sim/explore/parameters.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace drydock::sim::explore {

absl::Status CheckParameters(std::span<const Parameter> declared, const Parameters& values) {
  for (const auto& set : values) {
    const std::string& name = set.first;
    const std::uint64_t value = set.second;
    const auto found = std::find_if(declared.begin(), declared.end(),
                                    [&](const Parameter& known) { return known.name == name; });
    if (found == declared.end()) {
      std::vector<std::string> names;
      for (const Parameter& known : declared) names.emplace_back(known.name);
      return absl::InvalidArgumentError(
          absl::StrCat("parameter ", name, " does not exist: ",
                       names.empty() ? "the scenario has none" : absl::StrJoin(names, ", ")));
    }
    if (value < found->least || value > found->most) {
      return absl::InvalidArgumentError(absl::StrCat("parameter ", name, " is ", value,
                                                     ": it takes from ", found->least, " to ",
                                                     found->most));
    }
  }
  return absl::OkStatus();
}

Parameters AllParameters(std::span<const Parameter> declared, const Parameters& values) {
  Parameters all = values;
  for (const Parameter& known : declared) all.try_emplace(std::string(known.name), known.usual);
  return all;
}

absl::StatusOr<Parameters> ParseParameters(absl::string_view text) {
  Parameters values;
  if (text.empty()) return values;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    std::uint64_t value = 0;
    if (halves.first.empty() || !absl::SimpleAtoi(halves.second, &value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", part, "' is no parameter: it takes name=number, joined by commas"));
    }
    if (!values.emplace(std::string(halves.first), value).second) {
      return absl::InvalidArgumentError(absl::StrCat("parameter ", halves.first, " is set twice"));
    }
  }
  return values;
}

std::string FormatParameters(const Parameters& values) {
  return absl::StrJoin(values, ",", absl::PairFormatter("="));
}

}  // namespace drydock::sim::explore
