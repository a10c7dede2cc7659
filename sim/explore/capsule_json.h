// A capsule as JSON, in a text or a file. Its schema is in README.md. A file may come from
// anywhere: reading it is strict.

#ifndef DRYDOCK_SIM_EXPLORE_CAPSULE_JSON_H_
#define DRYDOCK_SIM_EXPLORE_CAPSULE_JSON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/explore/capsule.h"

namespace drydock::sim::explore {

// Whether its text is at most kMostBytes long.
bool FitsInFile(const Capsule& capsule);

// As text, never longer than kMostBytes but for its plan.
std::string FormatCapsule(const Capsule& capsule);

// kInvalidArgument, in one line that names the key: text that FormatCapsule does not write.
absl::StatusOr<Capsule> ParseCapsule(absl::string_view text);

// A file. kNotFound: cannot be read; kInvalidArgument: no capsule, with the path.
absl::StatusOr<Capsule> ReadCapsule(const std::string& path);
// kInvalidArgument: cannot be written, or longer than kMostBytes.
absl::Status WriteCapsule(const std::string& path, const Capsule& capsule);
// Writes "NAME.capsule", or "NAME-2.capsule" where that is another capsule, and so on: a line that
// names a file stays true. Returns the path. Processes may do it at once. Errors: as above.
absl::StatusOr<std::string> WriteNewCapsule(const std::string& name, const Capsule& capsule);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_CAPSULE_JSON_H_
