#include "drydock/sim/explore/ranges.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace drydock::sim::explore {
namespace {

absl::Status Refuse(absl::string_view part) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", part.substr(0, 64), "' is no part of a rising list such as 3,7-9"));
}

bool IsNumber(absl::string_view text, std::uint64_t& number) {
  // SimpleAtoi takes signs and spaces, too.
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos &&
         absl::SimpleAtoi(text, &number);
}

}  // namespace

std::string FormatRanges(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", numbers[i]);
    if (last > i) absl::StrAppend(&text, "-", numbers[last]);
    i = last + 1;
  }
  return text;
}

absl::StatusOr<std::vector<std::uint64_t>> ParseRanges(absl::string_view text, std::size_t most) {
  std::vector<std::uint64_t> numbers;
  if (text.empty()) return numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::size_t dash = part.find('-');
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if (!IsNumber(part.substr(0, dash), first)) return Refuse(part);
    last = first;
    if (dash != absl::string_view::npos && !IsNumber(part.substr(dash + 1), last)) {
      return Refuse(part);
    }
    if (last < first || (!numbers.empty() && first <= numbers.back())) return Refuse(part);
    if (last - first >= most - numbers.size()) {
      return absl::InvalidArgumentError(absl::StrCat("lists more than ", most, " numbers"));
    }
    for (std::uint64_t number = first; number < last; ++number) numbers.push_back(number);
    numbers.push_back(last);
  }
  return numbers;
}

}  // namespace drydock::sim::explore
