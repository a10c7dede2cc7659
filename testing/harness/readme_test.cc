#include "drydock/testing/harness/readme.h"

#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::harness {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<ReadmeSession> SessionsOf(const std::string& page) {
  std::istringstream stream(page);
  return ReadmeSessions(stream, "//apps/write");
}

TEST(ReadmeTest, ASessionIsWhatStandsBetweenItsCommandLineAndTheEndOfItsBlock) {
  const std::vector<ReadmeSession> sessions = SessionsOf(
      "text\n```\n$ ./bazelw run //apps/write -- --seed=1  --json\none\n\n  two\n```\nmore text\n");
  ASSERT_THAT(sessions, SizeIs(1));
  EXPECT_THAT(sessions[0].arguments, ElementsAre("--seed=1", "--json"));
  EXPECT_EQ(sessions[0].output, "one\n\n  two\n");
}

TEST(ReadmeTest, AProgramMayHaveNoArguments) {
  const std::vector<ReadmeSession> sessions =
      SessionsOf("```\n$ ./bazelw run //apps/write\none\n```\n");
  ASSERT_THAT(sessions, SizeIs(1));
  EXPECT_THAT(sessions[0].arguments, IsEmpty());
  EXPECT_EQ(sessions[0].output, "one\n");
}

TEST(ReadmeTest, SessionsOfOneBlockAreSeveral) {
  const std::vector<ReadmeSession> sessions = SessionsOf(
      "```\n$ ./bazelw run //apps/write -- -a\none\n$ ls\ntwo\n"
      "$ ./bazelw run //apps/write -- -b\nthree\n```\n");
  ASSERT_THAT(sessions, SizeIs(2));
  EXPECT_THAT(sessions[0].arguments, ElementsAre("-a"));
  EXPECT_EQ(sessions[0].output, "one\n");
  EXPECT_THAT(sessions[1].arguments, ElementsAre("-b"));
  EXPECT_EQ(sessions[1].output, "three\n");
}

TEST(ReadmeTest, OtherProgramsHaveSessionsOfTheirOwn) {
  EXPECT_THAT(SessionsOf("```\n$ ./bazelw run //apps/writer -- -a\none\n```\n"
                         "    ./bazelw run //apps/write -- -a\n"),
              IsEmpty());
}

}  // namespace
}  // namespace drydock::harness
