// A program that is a function of its seed has no difference; one that is not is told where.

#include "drydock/sim/world/run_twice.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "drydock/sim/testing/lab.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using fabric::ErrorCode;
using ::testing::HasSubstr;
using ::testing::Optional;

// Runs `program` on two machines, twice.
std::optional<std::string> Difference(
    const std::function<void(int run, Lab& lab, Side& a, Side& b)>& program) {
  sim::RunTwice twice;
  for (int run = 0; run < 2; ++run) {
    Lab lab(/*seed=*/3);
    twice.Watch(lab.world());
    Side& a = lab.Add("a");
    Side& b = lab.Add("b");
    lab.Introduce();
    program(run, lab, a, b);
  }
  return twice.difference();
}

void Write(Lab& lab, Side& from, Side& to, std::size_t bytes, std::uint64_t context) {
  ASSERT_EQ(from.endpoint->Write(from.WriteTo(to, 0, bytes, context)), ErrorCode::kOk);
  EXPECT_TRUE(lab.Take(from, context).ok());
}

TEST(RunTwiceTest, AFunctionOfTheSeedHasNoDifference) {
  EXPECT_EQ(Difference([](int, Lab& lab, Side& a, Side& b) {
              for (std::uint64_t i = 1; i <= 20; ++i) Write(lab, a, b, 1000 * i, i);
            }),
            std::nullopt);
}

TEST(RunTwiceTest, NamesTheFirstEventThatDiffers) {
  const std::optional<std::string> difference = Difference([](int run, Lab& lab, Side& a, Side& b) {
    Write(lab, a, b, 64, 1);
    Write(lab, a, b, run == 0 ? 100 : 101, 2);
    Write(lab, a, b, 64, 3);
  });
  // The device sees the length when it fetches the work request.
  EXPECT_THAT(difference, Optional(HasSubstr(" ns: fetch: nic 0")));
  EXPECT_THAT(difference, Optional(HasSubstr("the first run: after")));
  EXPECT_THAT(difference, Optional(HasSubstr(", 100 bytes")));
  EXPECT_THAT(difference, Optional(HasSubstr("; the second: after")));
  EXPECT_THAT(difference, Optional(HasSubstr(", 101 bytes")));
}

TEST(RunTwiceTest, TimeAloneIsADifference) {
  EXPECT_THAT(Difference([](int run, Lab& lab, Side& a, Side& b) {
                Write(lab, a, b, 64, 1);
                lab.world().timeline().RunFor(coro::Duration(run));
                Write(lab, a, b, 64, 2);
              }),
              Optional(HasSubstr("fetch")));
}

TEST(RunTwiceTest, ARunThatEndsEarlyDiffers) {
  EXPECT_THAT(Difference([](int run, Lab& lab, Side& a, Side& b) {
                Write(lab, a, b, 64, 1);
                if (run == 0) Write(lab, a, b, 64, 2);
              }),
              Optional(HasSubstr("the second run had ended; the first: ")));
  EXPECT_THAT(Difference([](int run, Lab& lab, Side& a, Side& b) {
                Write(lab, a, b, 64, 1);
                if (run == 1) Write(lab, a, b, 64, 2);
              }),
              Optional(HasSubstr("the first run had ended; the second: ")));
}

// One byte more in one write changes both halves of the digest.
TEST(RunTwiceTest, DigestsAgreeWithTheVerdict) {
  std::vector<sim::Digest> digests;
  for (const std::size_t bytes : {100u, 100u, 101u}) {
    Lab lab(/*seed=*/3);
    Side& a = lab.Add("a");
    Side& b = lab.Add("b");
    lab.Introduce();
    Write(lab, a, b, bytes, 1);
    digests.push_back(lab.world().digest());
    EXPECT_EQ(lab.world().digest().ToHex().size(), 32u);
  }
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_NE(digests[0], digests[2]);
  EXPECT_NE(digests[0].high, digests[2].high);
  EXPECT_NE(digests[0].low, digests[2].low);
}

}  // namespace
}  // namespace drydock::sim_testing
