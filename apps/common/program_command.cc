#include "drydock/apps/common/program_command.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace drydock::apps {
namespace {

std::string WithArguments(std::string command, absl::string_view before,
                          absl::string_view arguments) {
  if (!arguments.empty()) absl::StrAppend(&command, before, arguments);
  return command;
}

}  // namespace

std::string ProgramCommandFrom(const std::string& self, absl::string_view program,
                               absl::string_view arguments) {
  const std::filesystem::path folder = std::filesystem::path(self).parent_path();
  const std::string in_image = absl::StrCat("drydock-", program);
  std::error_code error;
  if (std::filesystem::exists(folder / "version.txt", error)) {
    return WithArguments(absl::StrCat("drydock ", program), " ", arguments);
  }
  if (std::filesystem::exists(folder / in_image, error)) {
    return WithArguments(in_image, " ", arguments);
  }
  const char* at = program == "efa-run" ? "sim/verbs:" : "apps/";
  return WithArguments(absl::StrCat("./bazelw run //", at, program), " -- ", arguments);
}

std::string ProgramCommand(absl::string_view program, absl::string_view arguments) {
  std::error_code error;  // no Linux: a clone
  return ProgramCommandFrom(std::filesystem::read_symlink("/proc/self/exe", error).string(),
                            program, arguments);
}

}  // namespace drydock::apps
