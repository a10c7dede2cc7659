#include "drydock/apps/common/text_table.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace drydock::apps {
namespace {

bool IsNumber(const std::string& cell) {
  return !cell.empty() && absl::ascii_isdigit(static_cast<unsigned char>(cell[0])) &&
         cell.find_first_not_of("0123456789.,") == std::string::npos;
}

std::string Padded(const std::string& cell, std::size_t width) {
  const std::string fill(width - cell.size(), ' ');
  return IsNumber(cell) ? fill + cell : cell + fill;
}

}  // namespace

std::string FormatTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&line, i == 0 ? "" : "  ", Padded(row[i], widths[i]));
    }
    absl::StrAppend(&text, std::string(absl::StripTrailingAsciiWhitespace(line)), "\n");
    if (&row != &rows.front()) continue;
    std::string rule;
    for (const std::size_t width : widths) {
      absl::StrAppend(&rule, rule.empty() ? "" : "  ", std::string(width, '-'));
    }
    absl::StrAppend(&text, rule, "\n");
  }
  return text;
}

}  // namespace drydock::apps
