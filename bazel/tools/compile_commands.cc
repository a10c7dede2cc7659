#include "drydock/bazel/tools/compile_commands.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace drydock::bazel_tools {
namespace {

using Arguments = std::vector<std::string>;

// Options of GCC that make Clang stop.
bool IsForGccOnly(const std::string& argument) {
  return argument == "-fno-canonical-system-headers" || argument == "-Winvalid-pch" ||
         argument == "-Wno-error=invalid-pch" || absl::StartsWith(argument, "--param=") ||
         absl::StartsWith(argument, "-freorder-blocks-algorithm=");
}

// `path` as the workspace sees it, where it is one that Bazel makes.
std::string Resolved(const std::string& path, const Folders& folders) {
  if (absl::StartsWith(path, "bazel-out/")) return absl::StrCat(folders.execution_root, "/", path);
  if (absl::StartsWith(path, "external/")) return absl::StrCat(folders.output_base, "/", path);
  return path;
}

// The same for an argument, which may have the path behind an option: -Ibazel-out/...
std::string ResolvedArgument(const std::string& argument, const Folders& folders) {
  for (const char* const option : {"-I", "-L"}) {
    if (!absl::StartsWith(argument, option)) continue;
    return option + Resolved(argument.substr(std::char_traits<char>::length(option)), folders);
  }
  return Resolved(argument, folders);
}

Arguments ForTools(const Arguments& arguments, const Folders& folders) {
  Arguments result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    // The only header that our rules include by an option is a precompiled one (precompiled.bzl).
    if (arguments[i] == "-include") {
      ++i;
    } else if (!IsForGccOnly(arguments[i])) {
      result.push_back(ResolvedArgument(arguments[i], folders));
    }
  }
  return result;
}

// What follows -c; empty where nothing does.
std::string SourceOf(const Arguments& arguments) {
  const auto option = std::find(arguments.begin(), arguments.end(), "-c");
  if (option == arguments.end() || option + 1 == arguments.end()) return "";
  return *(option + 1);
}

bool IsOfTheWorkspace(const std::string& source) {
  return !source.empty() && !absl::StartsWith(source, "external/") &&
         !absl::StartsWith(source, "bazel-out/") && !absl::StartsWith(source, "/");
}

}  // namespace

absl::StatusOr<std::string> CompileCommands(const std::string& aquery, const Folders& folders) {
  const nlohmann::json parsed = nlohmann::json::parse(aquery, nullptr, /*allow_exceptions=*/false);
  const bool has_actions = parsed.is_object() && parsed.contains("actions");
  if (!has_actions || !parsed["actions"].is_array()) {
    return absl::InvalidArgumentError("bazel aquery printed no JSON with a list of actions");
  }
  std::map<std::string, Arguments> commands;  // by source
  for (const nlohmann::json& action : parsed["actions"]) {
    if (!action.is_object() || !action.contains("arguments")) continue;
    const nlohmann::json& list = action["arguments"];
    const auto is_string = [](const nlohmann::json& argument) { return argument.is_string(); };
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_string)) {
      return absl::InvalidArgumentError("an action has arguments that are no strings");
    }
    Arguments arguments = list.get<Arguments>();
    std::string source = SourceOf(arguments);
    if (IsOfTheWorkspace(source)) commands.emplace(std::move(source), std::move(arguments));
  }
  if (commands.empty()) return absl::NotFoundError("no action compiles a source of the workspace");
  nlohmann::json database = nlohmann::json::array();
  for (const auto& [source, arguments] : commands) {
    database.push_back({{"directory", folders.workspace},
                        {"file", source},
                        {"arguments", ForTools(arguments, folders)}});
  }
  return database.dump(1) + "\n";
}

}  // namespace drydock::bazel_tools
