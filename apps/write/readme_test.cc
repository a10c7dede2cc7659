// README.md shows sessions. Here they are run again, so that they cannot go stale.

#include "drydock/testing/harness/readme.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/testing/harness/run_program.h"
#include "drydock/testing/harness/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::write {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<harness::ReadmeSession> SessionsOfTheReadme() {
  return harness::ReadmeSessions("//apps/write");
}

constexpr harness::Program kWrite = harness::Program("DRYDOCK_WRITE", "write").WithoutEfa();

// Why the simulator was chosen depends on the machine and on what was built in.
std::string WithoutReason(const std::string& text) {
  const std::size_t start = text.find(" (auto: ");
  if (start == std::string::npos) return text;
  const std::size_t end = text.find(")\n", start);
  return text.substr(0, start) + text.substr(end + 1);
}

// The smallest seed whose run with --completion=last shows wrong data, for a README that needs one.
std::string FailingSeed() {
  for (int seed = 1; seed <= 200; ++seed) {
    const std::string flag = absl::StrCat("--seed=", seed);
    if (kWrite.Run({"--json", "--completion=last", flag}).exit_code == 1) return flag;
  }
  return "none up to --seed=200";
}

TEST(ReadmeTest, SessionsAreWhatTheProgramPrints) {
  const std::vector<harness::ReadmeSession> sessions = SessionsOfTheReadme();
  ASSERT_THAT(sessions, SizeIs(3));
  for (const harness::ReadmeSession& session : sessions) {
    const harness::ProcessEnd end = kWrite.Run(session.arguments);
    EXPECT_EQ(end.err, "");
    EXPECT_EQ(WithoutReason(end.out), WithoutReason(session.output))
        << "README.md shows an old session. Paste this below its command line:\n\n"
        << end.out;
  }
}

TEST(ReadmeTest, OnlyTheSecondSessionIsWrong) {
  const std::vector<harness::ReadmeSession> sessions = SessionsOfTheReadme();
  ASSERT_THAT(sessions, SizeIs(3));
  EXPECT_EQ(kWrite.Run(sessions[0].arguments).exit_code, 0);
  EXPECT_THAT(sessions[0].output, HasSubstr("\nData is correct\n"));
  const harness::ProcessEnd wrong = kWrite.Run(sessions[1].arguments);
  EXPECT_EQ(wrong.exit_code, 1) << "this seed shows no wrong data any more; the first that does: "
                                << FailingSeed();
  EXPECT_THAT(sessions[1].output, HasSubstr("\nData is wrong: "));
  EXPECT_EQ(kWrite.Run(sessions[2].arguments).exit_code, 0);
  EXPECT_THAT(sessions[2].output, HasSubstr("\nData is correct\n"));
}

}  // namespace
}  // namespace drydock::apps::write
