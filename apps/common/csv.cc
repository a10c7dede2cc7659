#include "drydock/apps/common/csv.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace drydock::apps {

std::string FormatCsv(const std::vector<std::vector<std::string>>& rows) {
  const auto add_cell = [](std::string* out, const std::string& cell) {
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      out->append(cell);
    } else {
      absl::StrAppend(out, "\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
    }
  };
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    absl::StrAppend(&text, absl::StrJoin(row, ",", add_cell), "\n");
  }
  return text;
}

}  // namespace drydock::apps
