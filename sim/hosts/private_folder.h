// A folder that one user shares with nobody, where others may make folders, too: below /tmp.

#ifndef DRYDOCK_SIM_HOSTS_PRIVATE_FOLDER_H_
#define DRYDOCK_SIM_HOSTS_PRIVATE_FOLDER_H_

#include <string>

#include "absl/status/status.h"

namespace drydock::sim {

// Makes the folder where it is not there; its parent is. kUnavailable: it cannot be made, or
// something else has its name. kPermissionDenied: it is another user's, or others can write to it.
// Threads and processes: may do it at once.
absl::Status MakePrivateFolder(const std::string& folder);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_PRIVATE_FOLDER_H_
