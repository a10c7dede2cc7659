// A file whose readers find all of it, or the one before it.

#ifndef DRYDOCK_SIM_EXPLORE_REPLACE_FILE_H_
#define DRYDOCK_SIM_EXPLORE_REPLACE_FILE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace drydock::sim::explore {

// Writes a draft beside `path` and gives it that name; where `forced`, both are on the disk then.
// Returns 0, or the number of an error, and the file before it stays. Processes, also such as have
// the same number in containers that share a folder, may do it at once: each has a draft of its
// own, and the last one's stays.
int ReplaceFile(const std::string& path, absl::string_view bytes, bool forced);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_REPLACE_FILE_H_
