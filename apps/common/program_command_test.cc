#include "drydock/apps/common/program_command.h"

#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

TEST(ProgramCommandTest, FromTheRepository) {
  const char* self =
      "/home/me/.cache/bazel/_bazel_me/1a/execroot/drydock/bazel-out/k8-opt/bin/apps/doctor/doctor";
  EXPECT_EQ(ProgramCommandFrom(self, "write", ""), "./bazelw run //apps/write");
  EXPECT_EQ(ProgramCommandFrom(self, "write", "--profile=p5"),
            "./bazelw run //apps/write -- --profile=p5");
  EXPECT_EQ(ProgramCommandFrom(self, "efa-run", "fi_info"),
            "./bazelw run //sim/verbs:efa-run -- fi_info");
  EXPECT_EQ(ProgramCommand("gpuloc"), "./bazelw run //apps/gpuloc");  // this test is one of them
}

TEST(ProgramCommandTest, FromAPackage) {
  EXPECT_EQ(ProgramCommandFrom("/usr/lib/drydock/doctor", "write", ""), "drydock write");
  EXPECT_EQ(ProgramCommandFrom("/opt/drydock/lib/drydock/explore", "efa-run", "fi_info -p efa"),
            "drydock efa-run fi_info -p efa");
}

TEST(ProgramCommandTest, FromAnImage) {
  EXPECT_EQ(ProgramCommandFrom("/usr/local/bin/drydock-doctor", "write", "--profile=p5"),
            "drydock-write --profile=p5");
}

}  // namespace
}  // namespace drydock::apps
