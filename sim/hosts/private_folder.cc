#include "drydock/sim/hosts/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace drydock::sim {

absl::Status MakePrivateFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) == 0) return absl::OkStatus();
  struct stat found {};
  if (lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    return absl::UnavailableError(absl::StrCat(folder, ": cannot be made"));
  }
  if (found.st_uid != geteuid() || (found.st_mode & 022) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(folder, ": others can write to it"));
  }
  return absl::OkStatus();
}

}  // namespace drydock::sim
