#include "drydock/apps/common/report/output_flags.h"

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"

ABSL_FLAG(bool, json, false,
          "Print the result as JSON on standard output, and nothing else, for a script.");
ABSL_FLAG(bool, csv, false,
          "Print the result as comma-separated values on standard output, and nothing else.");

namespace drydock::apps {

absl::StatusOr<OutputForm> OutputFormFromFlags() {
  const bool json = absl::GetFlag(FLAGS_json);
  const bool csv = absl::GetFlag(FLAGS_csv);
  if (json && csv) return absl::InvalidArgumentError("choose one: --json or --csv");
  return json ? OutputForm::kJson : csv ? OutputForm::kCsv : OutputForm::kText;
}

bool OutputIsForScripts() { return absl::GetFlag(FLAGS_json) || absl::GetFlag(FLAGS_csv); }

absl::Status CheckOneTable(std::size_t printers, absl::string_view name) {
  if (printers < 2 || !absl::GetFlag(FLAGS_csv)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--csv is one table, and ", printers, " ", name,
                   " would print one each: take --json, a line for each of them, or two ranks"));
}

}  // namespace drydock::apps
