// --svg=FILE: a picture of the result, for programs whose result can be drawn.

#ifndef DRYDOCK_APPS_COMMON_REPORT_SVG_FLAG_H_
#define DRYDOCK_APPS_COMMON_REPORT_SVG_FLAG_H_

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace drydock::apps {

// kInvalidArgument: the file of --svg cannot be written. For programs that work before they draw.
absl::Status CheckSvg();

// Where --svg is given, draws and writes the file. Errors: those of CheckSvg and WriteOutput.
absl::Status DrawIfAsked(const std::function<std::string()>& draw);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_REPORT_SVG_FLAG_H_
