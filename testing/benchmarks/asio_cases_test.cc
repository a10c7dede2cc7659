// The cases that asio is measured by do what their names say, as often as they are asked to.

#include "drydock/testing/benchmarks/asio_cases.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drydock/testing/benchmarks/coro_cases.h"
#include "drydock/testing/benchmarks/coro_limits.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gtest/gtest.h"

namespace drydock::bench {
namespace {

using ::drydock::testing_matchers::IsOk;

TEST(AsioCasesTest, AreWhatTheySay) { EXPECT_THAT(VerifyAsioCases(), IsOk()); }

TEST(AsioCasesTest, RunAgainAndAgain) {
  for (const Case& measured : MakeAsioCases()) {
    for (int i = 0; i < 3; ++i)
      EXPECT_THAT(measured.run(2 * measured.granule), IsOk()) << measured.name;
  }
}

// The table holds them all.
TEST(AsioCasesTest, HaveNamesOfTheirOwn) {
  std::vector<Case> cases = MakeLimits();
  for (Case& ours : MakeCoroCases()) cases.push_back(std::move(ours));
  for (Case& theirs : MakeAsioCases()) cases.push_back(std::move(theirs));
  std::set<std::string> names;
  for (const Case& measured : cases) {
    EXPECT_TRUE(names.insert(measured.name).second) << measured.name;
  }
}

}  // namespace
}  // namespace drydock::bench
