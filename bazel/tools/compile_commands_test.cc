#include "drydock/bazel/tools/compile_commands.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace drydock::bazel_tools {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Folders kFolders = {"/home/me/repo", "/cache/execroot/repo", "/cache"};

// The output of aquery for one action with these arguments, as Bazel 4.2.3 prints it.
std::string Actions(const std::string& arguments) {
  return R"({"actions": [{"targetId": 1, "mnemonic": "CppCompile", "arguments": )" + arguments +
         R"(}], "targets": [{"id": 1, "label": "//coro:task"}]})";
}

json Database(const std::string& aquery) {
  const absl::StatusOr<std::string> text = CompileCommands(aquery, kFolders);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? json::parse(*text) : json::array({{}});
}

TEST(CompileCommandsTest, EntryCompilesInTheWorkspace) {
  const json database = Database(Actions(R"(["gcc", "-iquote", ".", "-c", "coro/task.cc"])"));
  ASSERT_EQ(database.size(), 1u);
  EXPECT_EQ(database[0]["directory"], "/home/me/repo");
  EXPECT_EQ(database[0]["file"], "coro/task.cc");
  EXPECT_THAT(database[0]["arguments"], ElementsAre("gcc", "-iquote", ".", "-c", "coro/task.cc"));
}

TEST(CompileCommandsTest, PathsOfBazelBecomeAbsolute) {
  const json database = Database(Actions(
      R"(["gcc", "-isystem", "external/absl/include", "-Ibazel-out/k8/bin", "-c", "a.cc"])"));
  EXPECT_THAT(database[0]["arguments"],
              ElementsAre("gcc", "-isystem", "/cache/external/absl/include",
                          "-I/cache/execroot/repo/bazel-out/k8/bin", "-c", "a.cc"));
}

TEST(CompileCommandsTest, WhatOnlyGccReadsIsLeftOut) {
  const json database = Database(Actions(R"(["gcc", "-fno-canonical-system-headers",
      "--param=ggc-min-heapsize=600000", "-include", "bazel/packages.h", "-Winvalid-pch", "-Wall",
      "-freorder-blocks-algorithm=simple", "-Wno-error=invalid-pch", "-c", "a.cc"])"));
  EXPECT_THAT(database[0]["arguments"], ElementsAre("gcc", "-Wall", "-c", "a.cc"));
}

TEST(CompileCommandsTest, EachSourceOfTheWorkspaceComesOnce) {
  const json database = Database(R"({"actions": [
      {"arguments": ["gcc", "-c", "b.cc"]},
      {"arguments": ["gcc", "-fPIC", "-c", "b.cc"]},
      {"arguments": ["gcc", "-c", "external/lib/c.cc"]},
      {"arguments": ["gcc", "-c", "bazel-out/generated.cc"]},
      {"arguments": ["gcc", "-c"]},
      {"mnemonic": "Middleman"},
      {"arguments": ["gcc", "-c", "a.cc"]}]})");
  ASSERT_EQ(database.size(), 2u);
  EXPECT_EQ(database[0]["file"], "a.cc");
  EXPECT_EQ(database[1]["file"], "b.cc");
  EXPECT_THAT(database[1]["arguments"], ElementsAre("gcc", "-c", "b.cc"));
}

TEST(CompileCommandsTest, OtherTextIsRefused) {
  for (const std::string text : {"", "ERROR: no such target", "[]", R"({"actions": 3})",
                                 R"({"actions": [{"arguments": [1]}]})"}) {
    EXPECT_EQ(CompileCommands(text, kFolders).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(CompileCommandsTest, NothingToCompileIsAnError) {
  const absl::Status status = CompileCommands(R"({"actions": []})", kFolders).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no action compiles"));
}

}  // namespace
}  // namespace drydock::bazel_tools
