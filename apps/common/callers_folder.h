// Where a person is who starts a program by `bazel run`.

#ifndef DRYDOCK_APPS_COMMON_CALLERS_FOLDER_H_
#define DRYDOCK_APPS_COMMON_CALLERS_FOLDER_H_

#include "absl/status/status.h"

namespace drydock::apps {

// `bazel run` starts a program in a folder of its own, and names that of its caller: goes there, so
// that a file is the one that the caller's shell would mean. A program that was started anywhere
// else stays where it is, whatever its environment names: a script that `bazel run` has started may
// have gone on. Changes the working directory of the process: for main(), before it reads or writes
// a file. kUnavailable: the folder cannot be entered.
absl::Status GoToCallersFolder();

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_CALLERS_FOLDER_H_
