// The compilation database of a Bazel workspace, for editors and tools that read
// compile_commands.json: one entry for each source, with the command that Bazel runs for it.
//
//   bazel aquery --output=jsonproto ... ──► CompileCommands ──► compile_commands.json
//
// Bazel compiles in its execution root, where headers of other repositories and generated files
// are. An entry compiles in the workspace instead, so that its file is the one that a person edits;
// paths that exist only below the execution root become absolute.

#ifndef DRYDOCK_BAZEL_TOOLS_COMPILE_COMMANDS_H_
#define DRYDOCK_BAZEL_TOOLS_COMPILE_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"

namespace drydock::bazel_tools {

// Absolute paths, as `bazel info` prints them.
struct Folders {
  std::string workspace;
  std::string execution_root;  // what "bazel-out/" is below
  std::string output_base;     // what "external/" is below
};

// The text of compile_commands.json for the actions that `aquery` is the output of. Sources come in
// the order of their names, each once, and only those of the workspace itself. Options that Clang
// does not know, and precompiled headers, which only GCC reads, are left out.
// Errors: kInvalidArgument: not aquery's JSON; kNotFound: no source is compiled.
absl::StatusOr<std::string> CompileCommands(const std::string& aquery, const Folders& folders);

}  // namespace drydock::bazel_tools

#endif  // DRYDOCK_BAZEL_TOOLS_COMPILE_COMMANDS_H_
