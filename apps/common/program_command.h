// How a person starts another program of ours, from where this one was started; and words for a
// shell.

#ifndef DRYDOCK_APPS_COMMON_PROGRAM_COMMAND_H_
#define DRYDOCK_APPS_COMMON_PROGRAM_COMMAND_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace drydock::apps {

// What lies beside this program's file decides. In a package, which has version.txt there:
// "drydock write FLAGS". In an image that has the program as drydock-NAME: "drydock-write FLAGS".
// Otherwise as in a clone: "./bazelw run //apps/write -- FLAGS". `program` is a folder of apps, or
// efa-run; `arguments` may be empty.
std::string ProgramCommand(absl::string_view program, absl::string_view arguments = "");

// The same for a program whose file is `self`; empty: it is not known.
std::string ProgramCommandFrom(const std::string& self, absl::string_view program,
                               absl::string_view arguments);

// The words as a shell takes them back: "efa-run '--faults=a b.json' ./my_test".
std::string AsShellWords(const std::vector<std::string>& words);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_PROGRAM_COMMAND_H_
