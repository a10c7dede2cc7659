// --json, --csv, --svg=FILE: how a program gives its result, the same words for all.

#ifndef DRYDOCK_APPS_COMMON_REPORT_OUTPUT_FLAGS_H_
#define DRYDOCK_APPS_COMMON_REPORT_OUTPUT_FLAGS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::apps {

enum class OutputForm : std::uint8_t { kText, kJson, kCsv };

// kInvalidArgument: both --json and --csv.
absl::StatusOr<OutputForm> OutputFormFromFlags();

// Whether standard output is for a script: nothing but the result goes there.
bool OutputIsForScripts();

// For programs of a launcher, whose output is that of all ranks: `printers` of them print a result,
// "clients". kInvalidArgument: more than one, and --csv, which is one table.
absl::Status CheckOneTable(std::size_t printers, absl::string_view name);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_REPORT_OUTPUT_FLAGS_H_
