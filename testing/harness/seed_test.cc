#include "drydock/testing/harness/seed_test.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "drydock/fabric/faults/plan_json.h"
#include "drydock/sim/explore/capsule.h"
#include "drydock/sim/explore/capsule_json.h"
#include "drydock/sim/explore/replay.h"
#include "drydock/sim/explore/traced_run.h"
#include "drydock/sim/explore/verdict.h"
#include "drydock/testing/harness/body_scenario.h"
#include "drydock/testing/harness/endless_body.h"

namespace drydock::harness {
namespace {

using sim::explore::Capsule;
using sim::explore::RunSpec;
using sim::explore::SeedResult;

// Of one GoogleTest test: few enough that shards end together.
constexpr std::uint64_t kSeedsPerTest = 25;

// Null: Bazel does not run this test.
const char* BazelTarget() {
  const char* target = std::getenv("TEST_TARGET");
  return target == nullptr || *target == '\0' ? nullptr : target;
}

std::string OwnProgram() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "PROGRAM" : program.string();
}

// A run of a test, as a person can paste it.
std::string Command(const std::string& test, const std::string& variable) {
  if (const char* target = BazelTarget(); target != nullptr) {
    return absl::StrCat("./bazelw test ", target, " --test_env=", variable, " --test_filter='",
                        test, "*'");
  }
  return absl::StrCat(variable, " ", OwnProgram(), " --gtest_filter='", test, "*'");
}

std::string Failure(const std::string& test, const SeedTestOptions& options, std::uint64_t seed,
                    const std::string& what) {
  return absl::StrCat(test, " fails with seed ", seed, " (faults ", options.faults.name,
                      "): ", what,
                      "\n  alone: ", Command(test, absl::StrCat("DRYDOCK_SEED=", seed)));
}

std::string Text(const SeedResult& result) {
  return absl::StrCat(std::string(Name(result.verdict)), ": ", result.text);
}

// Leaves the run in the folder that is set, which Bazel sets and keeps, and says so.
std::string LeaveCapsule(const std::string& test, const BodyScenario& scenario,
                         const RunSpec& spec) {
  const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  if (folder == nullptr || *folder == '\0') return "";
  const std::string name = absl::StrCat(test, "-", spec.seed, ".capsule");
  std::error_code error;
  if (BazelTarget() == nullptr) std::filesystem::create_directories(folder, error);
  const std::string path = (std::filesystem::absolute(folder, error) / name).string();
  const absl::Status written =
      sim::explore::WriteCapsule(path, MakeCapsule(scenario, spec, RunTraced(scenario, spec)));
  if (!written.ok()) return absl::StrCat("\n  no capsule: ", written.message());
  // Bazel moves what is in the folder when the test has ended.
  const bool moves = BazelTarget() != nullptr;
  return absl::StrCat("\n  capsule: ", moves ? name + " in the test's outputs" : path, "; again: ",
                      Command(test, "DRYDOCK_CAPSULE=" + (moves ? ".../" + name : path)));
}

struct Survival {
  ::testing::AssertionResult survives;
  SeedResult result;
};

Survival Survive(const std::string& test, const SeedTestOptions& options,
                 const BodyScenario& scenario, const RunSpec& spec) {
  const EndlessBody endless(
      [&](const SeedResult& result) { return Failure(test, options, spec.seed, Text(result)); });
  const ::testing::ScopedTrace trace(__FILE__, __LINE__, absl::StrCat("seed ", spec.seed));
  const int failed_before = FailedParts();
  const SeedResult result = RunChecked(scenario, spec, /*twice=*/false);
  const bool expected = FailedParts() == failed_before;
  if (!IsFailure(result.verdict) && expected) return {::testing::AssertionSuccess(), result};
  return {::testing::AssertionFailure()
              << Failure(test, options, spec.seed,
                         expected ? Text(result) : "an expectation of its body failed")
              << LeaveCapsule(test, scenario, spec),
          result};
}

// Runs what the file tells of.
::testing::AssertionResult SurvivesCapsule(const std::string& test, const SeedTestOptions& options,
                                           const SeedTestBody& body, const std::string& path) {
  const BodyScenario scenario(body, options.profile, test);
  const absl::StatusOr<Capsule> capsule = sim::explore::ReadCapsule(path);
  const absl::Status fits = capsule.ok() ? CheckCapsule(*capsule, scenario) : capsule.status();
  if (!fits.ok()) return ::testing::AssertionFailure() << "DRYDOCK_CAPSULE: " << fits.message();
  const SeedResult& then = capsule->result;
  std::cout << test << " as in " << path << ", which was " << Text(then) << "\n";
  const Survival survival = Survive(test, options, scenario, capsule->run);
  const SeedResult& now = survival.result;
  const bool same =
      IsSameVerdict(then, now) && now.digest == then.digest && now.events == then.events;
  std::cout << (same ? "It is the same run.\n"
                     : absl::StrCat("It is another run: ", then.events, " events then, ",
                                    now.events, " now, and ", Text(now), "\n"));
  return survival.survives;
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
  const BodyScenario scenario(body, options.profile, test);
  for (std::uint64_t seed = first;; ++seed) {
    const ::testing::AssertionResult survives =
        Survive(test, options, scenario, SpecOf(seed, options.faults, options.limit)).survives;
    if (!survives || seed == last) return survives;
  }
}

bool RegisterSeedTest(const char* suite, const char* name, const char* file, int line,
                      const SeedTestOptions& options, const SeedTestBody& body) {
  const std::string test = absl::StrCat(suite, ".", name);
  if (const char* capsule = std::getenv("DRYDOCK_CAPSULE"); capsule != nullptr) {
    RegisterTest(suite, absl::StrCat(name, "/capsule"), file, line,
                 [=, path = std::string(capsule)] {
                   EXPECT_TRUE(SurvivesCapsule(test, options, body, path));
                 });
    return true;
  }
  if (const char* seed = std::getenv("DRYDOCK_SEED"); seed != nullptr) {
    RegisterOneSeed(suite, name, file, line, options, body, seed);
    return true;
  }
  std::uint64_t seeds = options.seeds;
  if (const char* text = std::getenv("DRYDOCK_SEEDS");
      text != nullptr && (!absl::SimpleAtoi(text, &seeds) || seeds == 0)) {
    RegisterTest(suite, absl::StrCat(name, "/seeds"), file, line, [text = std::string(text)] {
      FAIL() << "DRYDOCK_SEEDS=" << text << ": it takes how many seeds, a whole number from 1 on";
    });
    return true;
  }
  std::uint64_t number = 0;
  for (std::uint64_t done = 0; done < seeds; done += kSeedsPerTest) {
    const std::uint64_t first = options.first_seed + done;
    const std::uint64_t last = first + std::min(kSeedsPerTest, seeds - done) - 1;
    RegisterTest(suite, absl::StrCat(name, "/", number++), file, line,
                 [=] { EXPECT_TRUE(SurvivesSeeds(test, options, body, first, last)); });
  }
  return true;
}

}  // namespace drydock::harness
