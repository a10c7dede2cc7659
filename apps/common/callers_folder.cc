#include "drydock/apps/common/callers_folder.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace drydock::apps {

absl::Status GoToCallersFolder() {
  const char* const caller = std::getenv("BUILD_WORKING_DIRECTORY");
  if (caller == nullptr) return absl::OkStatus();
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  if (!absl::StrContains(here, ".runfiles/")) return absl::OkStatus();
  std::filesystem::current_path(caller, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(caller, ": ", error.message()));
}

}  // namespace drydock::apps
