// A file that a flag names, read whole: small, written by a person or another program.

#ifndef DRYDOCK_APPS_COMMON_TEXT_FILE_H_
#define DRYDOCK_APPS_COMMON_TEXT_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace drydock::apps {

// The file's bytes. kNotFound: there is no such file, or it cannot be read (a folder);
// kInvalidArgument: it is longer than `most_bytes`. The message names neither file nor flag.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, std::size_t most_bytes);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_TEXT_FILE_H_
