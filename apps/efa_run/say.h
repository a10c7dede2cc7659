// What efa-run tells a person on standard error.

#ifndef DRYDOCK_APPS_EFA_RUN_SAY_H_
#define DRYDOCK_APPS_EFA_RUN_SAY_H_

#include <string>

#include "absl/strings/string_view.h"

namespace drydock::apps {

// The same with `?` for what a terminal takes for a command: a text may come from any file. Lines
// stay lines.
std::string Printable(absl::string_view text);

// One line, behind the program's name.
void Say(absl::string_view line);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EFA_RUN_SAY_H_
