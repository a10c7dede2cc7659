// How a person starts another program of ours, from where this one was started.

#ifndef DRYDOCK_APPS_COMMON_PROGRAM_COMMAND_H_
#define DRYDOCK_APPS_COMMON_PROGRAM_COMMAND_H_

#include <string>

#include "absl/strings/string_view.h"

namespace drydock::apps {

// Where this program's file is decides: among what Bazel built, "./bazelw run //apps/write --
// FLAGS"; in an image, as drydock-NAME, "drydock-write FLAGS"; otherwise as the packages install
// it, "drydock write FLAGS". `program` is a name of packaging/programs.txt; `arguments` may be
// empty.
std::string ProgramCommand(absl::string_view program, absl::string_view arguments = "");

// The same for a program whose file is `self`.
std::string ProgramCommandFrom(absl::string_view self, absl::string_view program,
                               absl::string_view arguments);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_PROGRAM_COMMAND_H_
