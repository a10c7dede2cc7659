// How efa-run becomes the program: what it finds, checks and puts into the environment.

#ifndef DRYDOCK_APPS_EFA_RUN_START_H_
#define DRYDOCK_APPS_EFA_RUN_START_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/efa_run/request.h"

namespace drydock::apps {

// The file that a shell would run for this word. Codes of sim::verbs::FindProgram.
absl::StatusOr<std::string> FindOnPath(const std::string& word);

// Returns only when the program could not be started: why, in one line.
absl::Status Start(const Request& request);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EFA_RUN_START_H_
