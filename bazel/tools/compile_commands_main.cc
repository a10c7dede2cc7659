// Writes compile_commands.json at the root of the workspace:
//
//   ./bazelw run //bazel:compile_commands [TARGETS]     all targets, or those of a query expression

#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/bazel/tools/compile_commands.h"
#include "drydock/coro/status_macros.h"

namespace {

// What `command` prints; kFailedPrecondition, with the command, when it does not end well.
absl::StatusOr<std::string> OutputOf(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return absl::ResourceExhaustedError("cannot start a shell");
  std::string output;
  std::array<char, 65536> part{};
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe)) {
    output.append(part.data(), got);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  return absl::FailedPreconditionError(absl::StrCat("failed: ", command));
}

absl::StatusOr<std::string> Info(const char* what) {
  const std::string command = absl::StrCat("./bazelw info ", what);
  ASSIGN_OR_RETURN(std::string path, OutputOf(command));
  while (!path.empty() && path.back() == '\n') path.pop_back();
  return path;
}

// `text` as one word of a shell's command.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

absl::Status Write(const std::string& targets) {
  drydock::bazel_tools::Folders folders;
  folders.workspace = std::filesystem::current_path().string();
  ASSIGN_OR_RETURN(folders.execution_root, Info("execution_root"));
  ASSIGN_OR_RETURN(folders.output_base, Info("output_base"));
  const std::string query = Quoted(absl::StrCat("mnemonic(\"CppCompile\", ", targets, ")"));
  ASSIGN_OR_RETURN(
      const std::string actions,
      OutputOf("./bazelw aquery --output=jsonproto --include_artifacts=false " + query));
  ASSIGN_OR_RETURN(const std::string text, drydock::bazel_tools::CompileCommands(actions, folders));
  std::ofstream file("compile_commands.json");
  file << text << std::flush;
  if (!file) return absl::PermissionDeniedError("cannot write compile_commands.json");
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr || argc > 2) {
    std::cerr << "usage: ./bazelw run //bazel:compile_commands [TARGETS]\n";
    return 2;
  }
  std::error_code error;
  std::filesystem::current_path(workspace, error);
  if (error) {
    std::cerr << "compile_commands: cannot enter " << workspace << "\n";
    return 1;
  }
  const absl::Status written = Write(argc == 2 ? argv[1] : "//...");
  if (!written.ok()) {
    std::cerr << "compile_commands: " << written.message() << "\n";
    return 1;
  }
  std::cout << workspace << "/compile_commands.json\n";
  return 0;
}
