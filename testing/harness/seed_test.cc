#include "testing/harness/seed_test.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "fabric/faults/plan_json.h"
#include "sim/explore/verdict.h"
#include "testing/harness/body_scenario.h"
#include "testing/harness/endless_body.h"

namespace harness {
namespace {

using sim::explore::SeedResult;

// Of one GoogleTest test: few enough that shards end together.
constexpr std::uint64_t kSeedsPerTest = 25;

// As a person can paste it; the test's own program where Bazel does not run it.
std::string ReplayCommand(const std::string& test, std::uint64_t seed) {
  const char* target = std::getenv("TEST_TARGET");
  if (target == nullptr)
    return absl::StrCat("DRYDOCK_SEED=", seed, " --gtest_filter='", test, "*'");
  return absl::StrCat("./bazelw test ", target, " --test_env=DRYDOCK_SEED=", seed,
                      " --test_filter='", test, "*'");
}

std::string Failure(const std::string& test, const SeedTestOptions& options, std::uint64_t seed,
                    const std::string& what) {
  return absl::StrCat(test, " fails with seed ", seed, " (faults ", options.faults.name,
                      "): ", what, "\n  alone: ", ReplayCommand(test, seed));
}

std::string Text(const SeedResult& result) {
  return absl::StrCat(std::string(Name(result.verdict)), ": ", result.text);
}

void RegisterOneSeed(const char* suite, const char* name, const char* file, int line,
                     const SeedTestOptions& options, const SeedTestBody& body,
                     const std::string& text) {
  const std::string test = absl::StrCat(suite, ".", name);
  RegisterTest(suite, absl::StrCat(name, "/seed"), file, line, [=] {
    std::uint64_t seed = 0;
    ASSERT_TRUE(absl::SimpleAtoi(text, &seed))
        << "DRYDOCK_SEED=" << text << ": it takes a whole number from 0 to 2^64-1";
    std::cout << test << " with seed " << seed << " alone, faults " << options.faults.name << "\n"
              << fabric::faults::FormatFaultPlan(options.faults.plan(seed)) << "\n";
    EXPECT_TRUE(SurvivesSeeds(test, options, body, seed, seed));
  });
}

}  // namespace

::testing::AssertionResult SurvivesSeeds(const std::string& test, const SeedTestOptions& options,
                                         const SeedTestBody& body, std::uint64_t first,
                                         std::uint64_t last) {
  const BodyScenario scenario(body, options.profile);
  for (std::uint64_t seed = first;; ++seed) {
    const EndlessBody endless(
        [&](const SeedResult& result) { return Failure(test, options, seed, Text(result)); });
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, absl::StrCat("seed ", seed));
    const int failed_before = FailedParts();
    const SeedResult result =
        RunSeedChecked(scenario, seed, options.faults, /*twice=*/false, options.limit);
    const bool expected = FailedParts() == failed_before;
    if (IsFailure(result.verdict) || !expected) {
      return ::testing::AssertionFailure()
             << Failure(test, options, seed,
                        expected ? Text(result) : "an expectation of its body failed");
    }
    if (seed == last) return ::testing::AssertionSuccess();
  }
}

bool RegisterSeedTest(const char* suite, const char* name, const char* file, int line,
                      const SeedTestOptions& options, const SeedTestBody& body) {
  if (const char* seed = std::getenv("DRYDOCK_SEED"); seed != nullptr) {
    RegisterOneSeed(suite, name, file, line, options, body, seed);
    return true;
  }
  const std::string test = absl::StrCat(suite, ".", name);
  std::uint64_t number = 0;
  for (std::uint64_t done = 0; done < options.seeds; done += kSeedsPerTest) {
    const std::uint64_t first = options.first_seed + done;
    const std::uint64_t last = first + std::min(kSeedsPerTest, options.seeds - done) - 1;
    RegisterTest(suite, absl::StrCat(name, "/", number++), file, line,
                 [=] { EXPECT_TRUE(SurvivesSeeds(test, options, body, first, last)); });
  }
  return true;
}

}  // namespace harness
