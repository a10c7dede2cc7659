#include "drydock/apps/common/program_command.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace drydock::apps {

std::string ProgramCommandFrom(absl::string_view self, absl::string_view program,
                               absl::string_view arguments) {
  if (absl::StrContains(self, "/bazel-out/")) {
    const absl::string_view folder = program == "efa-run" ? "sim/verbs:" : "apps/";
    return absl::StrCat("./bazelw run //", folder, program, arguments.empty() ? "" : " -- ",
                        arguments);
  }
  const bool in_image =
      absl::StartsWith(std::filesystem::path(std::string(self)).filename().string(), "drydock-");
  return absl::StrCat("drydock", in_image ? "-" : " ", program, arguments.empty() ? "" : " ",
                      arguments);
}

std::string ProgramCommand(absl::string_view program, absl::string_view arguments) {
  std::error_code error;  // not Linux: as installed
  return ProgramCommandFrom(std::filesystem::read_symlink("/proc/self/exe", error).string(),
                            program, arguments);
}

}  // namespace drydock::apps
