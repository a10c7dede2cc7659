// A diagnosis as text for a person, and as JSON or CSV for a script. Pure functions.

#ifndef DRYDOCK_APPS_DOCTOR_REPORT_H_
#define DRYDOCK_APPS_DOCTOR_REPORT_H_

#include <string>

#include "drydock/apps/doctor/examination.h"

namespace drydock::apps::doctor {

struct TextStyle {
  bool color = false;
  bool quiet = false;  // only warnings and errors
};

std::string FormatText(const Diagnosis& diagnosis, const TextStyle& style);
// `quiet`: of the findings, warnings and errors only; the verdict is that of all.
std::string FormatJson(const Diagnosis& diagnosis, bool quiet);
// A line for each finding.
std::string FormatCsv(const Diagnosis& diagnosis, bool quiet);

// Whether to colour what goes to standard output: `asked` is "always", "never" or "auto", which
// colours on a terminal that is not dumb, unless NO_COLOR is set to anything (no-color.org).
bool UseColor(const std::string& asked, bool terminal, const char* no_color, const char* term);

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_REPORT_H_
