// --json, --csv, --svg=FILE: how a program gives its result, the same words for all.

#ifndef DRYDOCK_APPS_COMMON_REPORT_OUTPUT_FLAGS_H_
#define DRYDOCK_APPS_COMMON_REPORT_OUTPUT_FLAGS_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace drydock::apps {

enum class OutputForm : std::uint8_t { kText, kJson, kCsv };

// kInvalidArgument: both --json and --csv.
absl::StatusOr<OutputForm> OutputFormFromFlags();

// Whether standard output is for a script: nothing but the result goes there.
bool OutputIsForScripts();

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_REPORT_OUTPUT_FLAGS_H_
