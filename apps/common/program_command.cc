#include "drydock/apps/common/program_command.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

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

std::string AsShellWords(const std::vector<std::string>& words) {
  static constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  return absl::StrJoin(words, " ", [](std::string* out, const std::string& word) {
    const bool plain = !word.empty() && word.find_first_not_of(kPlain) == word.npos;
    // Bytes that a terminal would take for more than letters are written out.
    const bool strange = std::any_of(word.begin(), word.end(),
                                     [](char letter) { return letter < ' ' || letter > '~'; });
    if (strange) {
      absl::StrAppend(out, "$'", absl::CEscape(word), "'");
    } else if (plain) {
      absl::StrAppend(out, word);
    } else {
      absl::StrAppend(out, "'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
    }
  });
}

}  // namespace drydock::apps
