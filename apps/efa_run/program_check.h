// Whether a program can be run on the simulated device, before it is.

#ifndef DRYDOCK_APPS_EFA_RUN_PROGRAM_CHECK_H_
#define DRYDOCK_APPS_EFA_RUN_PROGRAM_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace drydock::apps {

// The file that a shell would run for `word`: `word` itself if it has a slash, otherwise the first
// executable of that name in `path`, folders separated by colons. kNotFound: there is no such file.
// kPermissionDenied: there are only files that are not executable.
absl::StatusOr<std::string> FindProgram(const std::string& word, const std::string& path);

// kFailedPrecondition, in one line: the file does not exist; or no library can be put in front of
// the program's own, because it runs with rights that its user lacks (set-user-ID, set-group-ID,
// file capabilities), is linked statically, or contains a libfabric that does not need
// libibverbs.so.1. OK for scripts, for files that are not 64-bit ELF and for those that cannot be
// read: nothing is known about them.
absl::Status CheckProgram(const std::string& file);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EFA_RUN_PROGRAM_CHECK_H_
