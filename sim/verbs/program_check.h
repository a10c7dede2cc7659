// Whether a program can be run on the simulated device, before it is.

#ifndef DRYDOCK_SIM_VERBS_PROGRAM_CHECK_H_
#define DRYDOCK_SIM_VERBS_PROGRAM_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace drydock::sim::verbs {

// The file that a shell would run for this word: itself when it has a slash, else the first in
// `path` (of folders with colons between). kNotFound; kPermissionDenied: not executable.
absl::StatusOr<std::string> FindProgram(const std::string& word, const std::string& path);

// kFailedPrecondition, in one line: no library can be put in front of the program's own, because it
// runs with rights that its user lacks (set-user-ID, file capabilities), because it is linked
// statically, or because it holds a libfabric of its own that asks for no libibverbs.so.1. Scripts
// and files that are no ELF of 64 bits are fine: nothing is known of them.
absl::Status CheckProgram(const std::string& file);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_PROGRAM_CHECK_H_
