#include "drydock/testing/harness/sweep_test.h"

#include "absl/strings/str_cat.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/fabric/faults/plan_json.h"
#include "drydock/sim/explore/verdict.h"
#include "drydock/testing/harness/endless_body.h"

namespace drydock::harness {

using fabric::faults::FaultPlan;
using sim::explore::RunSpec;
using sim::explore::SeedResult;
using sim::explore::SweepCase;
using sim::explore::SweepRow;

namespace {

std::string Failure(const std::string& test, const SweepTestOptions& options,
                    const SweepCase& which, const std::string& where, const SeedResult& result,
                    const FaultPlan& plan) {
  return absl::StrCat(test, " fails with ", Name(which), where, " (seed ", options.seed,
                      "): ", std::string(Name(result.verdict)), ": ", result.text, "\n",
                      fabric::faults::FormatFaultPlan(plan));
}

}  // namespace

::testing::AssertionResult SurvivesSweep(const std::string& test, const SweepTestOptions& options,
                                         const SeedTestBody& body, const SweepCase& which) {
  const BodyScenario scenario(body, options.profile);
  RunSpec spec;
  spec.seed = options.seed;
  spec.limit = options.limit;
  const SweepRow row = sim::explore::SweepOne(which, [&](const FaultPlan& plan) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, fabric::faults::FormatFaultPlan(plan));
    const EndlessBody endless(
        [&](const SeedResult& result) { return Failure(test, options, which, "", result, plan); });
    spec.plan = plan;
    return sim::explore::RunChecked(scenario, spec, /*twice=*/false);
  });
  if (row.failing.has_value()) {
    return ::testing::AssertionFailure()
           << Failure(test, options, which, absl::StrCat(" at its event ", *row.failing),
                      *row.failure, sim::explore::SweepPlan(which, *row.failing));
  }
  if (!row.complete) {
    return ::testing::AssertionFailure()
           << test << " comes to no end with " << Name(which) << ": " << row.runs << " runs";
  }
  return ::testing::AssertionSuccess();
}

bool RegisterSweepTest(const char* suite, const char* name, const char* file, int line,
                       const SweepTestOptions& options, const SeedTestBody& body) {
  const std::string test = absl::StrCat(suite, ".", name);
  for (const SweepCase& which : sim::explore::SweepCases()) {
    const std::string fault(fabric::faults::Describe(which.fault).name);
    RegisterTest(suite, absl::StrCat(name, "/", fault, which.sticky ? "_sticky" : ""), file, line,
                 [=] { EXPECT_TRUE(SurvivesSweep(test, options, body, which)); });
  }
  return true;
}

}  // namespace drydock::harness
