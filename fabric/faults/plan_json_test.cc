// A plan as text: its meaning, that it survives being written and read, and which texts are
// refused.

#include "drydock/fabric/faults/plan_json.h"

#include <chrono>
#include <fstream>
#include <string>

#include "drydock/fabric/error.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::faults {
namespace {

using namespace std::chrono_literals;
using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

// Everything that a plan can say, in the form in which plans are written.
constexpr char kEverything[] = R"({
  "about": "all of it",
  "mode": "illegal",
  "rules": [
    {
      "expect_fired": {
        "max": 900,
        "min": 3
      },
      "fault": "again_then_accepted",
      "name": "storm",
      "parameters": {
        "attempts": 7
      },
      "when": {
        "burst": {
          "gap": 100,
          "len": 16
        },
        "direction": "initiator",
        "every": 2,
        "immediate": {
          "mask": 4080,
          "value": 288
        },
        "key": [
          18446744073709551615
        ],
        "max": 1000,
        "nic": [
          "rdmap79s0",
          "rdmap80s0"
        ],
        "operation": [
          "send",
          "write"
        ],
        "peer": [
          0,
          3
        ],
        "probability": 0.1,
        "queue": [
          1
        ],
        "size": {
          "max": 8192,
          "min": 1
        },
        "skip": 5,
        "window": {
          "from_ns": 1000,
          "to_ns": 2000000
        }
      }
    },
    {
      "fault": "open_endpoint_fails",
      "name": "open_endpoint_fails",
      "parameters": {
        "error": "no_memory"
      },
      "when": {
        "nth": 2,
        "sticky": true
      }
    },
    {
      "fault": "lost_completion",
      "legality": "illegal",
      "name": "lost_completion"
    }
  ]
}
)";

TEST(PlanJsonTest, EveryKeyIsRead) {
  ASSERT_OK_AND_ASSIGN(const FaultPlan plan, ParseFaultPlan(kEverything));
  EXPECT_EQ(plan.about, "all of it");
  EXPECT_EQ(plan.mode, Legality::kIllegal);
  ASSERT_EQ(plan.rules.size(), 3u);
  FaultRule storm = FaultRule::Of(Fault::kAgainThenAccepted, "storm");
  storm.parameters.attempts = 7;
  storm.when.window = Window{1us, 2ms};
  storm.when.peers = {0, 3};
  storm.when.nics = {"rdmap79s0", "rdmap80s0"};
  storm.when.queues = {1};
  storm.when.keys = {UINT64_MAX};
  storm.when.operations = {OperationKind::kSend, OperationKind::kWrite};
  storm.when.size = SizeRange{1, 8192};
  storm.when.immediate = ImmediateMatch{0xff0, 0x120};
  storm.when.direction = Direction::kInitiator;
  storm.when.skip = 5;
  storm.when.every = 2;
  storm.when.probability = 0.1;
  storm.when.max = 1000;
  storm.when.burst = Burst{16, 100};
  storm.expect_fired = {.min = 3, .max = 900};
  EXPECT_TRUE(plan.rules[0] == storm);
  EXPECT_EQ(plan.rules[1].parameters.error, ErrorCode::kNoMemory);
  EXPECT_EQ(plan.rules[1].when.nth, 2u);
  EXPECT_TRUE(plan.rules[1].when.sticky);
  EXPECT_TRUE(plan.rules[2].illegal);
}

TEST(PlanJsonTest, WrittenPlanIsTheSame) {
  ASSERT_OK_AND_ASSIGN(const FaultPlan plan, ParseFaultPlan(kEverything));
  EXPECT_EQ(FormatFaultPlan(plan), kEverything);
  ASSERT_OK_AND_ASSIGN(const FaultPlan again, ParseFaultPlan(FormatFaultPlan(plan)));
  EXPECT_TRUE(again == plan);
}

// One rule of each fault, as C++ makes it, survives as text.
TEST(PlanJsonTest, EveryFaultOfTheCatalogueSurvives) {
  FaultPlan plan{.mode = Legality::kIllegal};
  for (const FaultInfo& info : Catalogue()) {
    FaultRule rule = FaultRule::Of(info.fault);
    rule.illegal = info.legality == Legality::kIllegal;
    plan.rules.push_back(rule);
  }
  ASSERT_OK_AND_ASSIGN(const FaultPlan again, ParseFaultPlan(FormatFaultPlan(plan)));
  EXPECT_TRUE(again == plan);
}

TEST(PlanJsonTest, DefaultsAreTheCatalogues) {
  ASSERT_OK_AND_ASSIGN(const FaultPlan plan,
                       ParseFaultPlan(R"({"rules": [{"fault": "delayed_completion"}]})"));
  EXPECT_EQ(plan.mode, Legality::kStrict);
  EXPECT_TRUE(plan.rules[0] == FaultRule::Of(Fault::kDelayedCompletion));
  EXPECT_EQ(plan.rules[0].name, "delayed_completion");
  EXPECT_EQ(plan.rules[0].parameters.delay, 100us);
}

TEST(PlanJsonTest, OneValueIsAListOfOne) {
  ASSERT_OK_AND_ASSIGN(
      const FaultPlan plan,
      ParseFaultPlan(
          R"({"rules": [{"fault": "unreachable", "when": {"peer": 3, "operation": "write"}}]})"));
  EXPECT_THAT(plan.rules[0].when.peers, ::testing::ElementsAre(3));
  EXPECT_TRUE(plan.rules[0].when.operations == OperationSet{OperationKind::kWrite});
}

TEST(PlanJsonTest, NoRulesAreAPlan) { EXPECT_THAT(ParseFaultPlan(R"({"rules": []})"), IsOk()); }

// ---- What is refused ----

struct Malformed {
  std::string text;
  std::string complaint;  // the whole line
};

// A plan of one rule, named x, of mode adversarial, with more keys.
std::string Rule(const std::string& keys) {
  return R"({"mode": "adversarial", "rules": [{"name": "x", )" + keys + "}]}";
}
std::string When(const std::string& keys) {
  return Rule(R"("fault": "send_queue_full", "when": {)" + keys + "}");
}

class MalformedTest : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedTest, IsRefusedInOneLine) {
  const auto plan = ParseFaultPlan(GetParam().text);
  EXPECT_THAT(plan.status(), StatusIs(absl::StatusCode::kInvalidArgument, GetParam().complaint));
  EXPECT_THAT(std::string(plan.status().message()), Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(
    Structure, MalformedTest,
    ::testing::Values(
        Malformed{"[]", "is a list: it takes an object"}, Malformed{"{}", "rules is missing"},
        Malformed{R"({"rules": [], "rule": []})", "rule is no key here"},
        Malformed{R"({"rules": [], "rules": []})", "it has the key \"rules\" twice in one object"},
        Malformed{R"({"rules": {}})", "rules is not a list"},
        Malformed{R"({"rules": [7]})", "rule 1: is not an object"},
        Malformed{R"({"rules": [{"name": "x"}]})", "rule 1: has no fault"},
        Malformed{R"({"rules": [{"fault": "again"}]})",
                  "rule 1: fault is \"again\": docs/faults.md lists the faults"},
        Malformed{R"({"rules": [{"fault": 3}]})", "rule 1: fault is 3: it takes a text"},
        Malformed{R"({"rules": [{"fault": "flushed", "name": ""}]})", "rule 1: name is empty"},
        Malformed{R"({"rules": [{"fault": "flushed", "name": "a\nb"}]})",
                  "rule 1 (a?b): name takes printable ASCII characters only"},
        Malformed{R"({"rules": [{"fault": "flushed"}, {"fault": "flushed"}]})",
                  "rule 2 (flushed): name is also that of rule 1: give one of them another"},
        Malformed{R"({"mode": "cruel", "rules": []})",
                  "mode is \"cruel\": strict, adversarial or illegal"},
        Malformed{Rule(R"("fault": "flushed", "wen": {})"), "rule 1 (x): wen is no key here"},
        Malformed{When(R"("p": 0.1)"), "rule 1 (x): when.p is no key here"},
        Malformed{When(R"("burst": {"length": 3})"),
                  "rule 1 (x): when.burst.length is no key here"}));

INSTANTIATE_TEST_SUITE_P(
    Values, MalformedTest,
    ::testing::Values(
        Malformed{When(R"("nth": "3")"),
                  "rule 1 (x): when.nth is \"3\": it takes a whole number from 0 to "
                  "18446744073709551615"},
        Malformed{When(R"("nth": -1)"),
                  "rule 1 (x): when.nth is -1: it takes a whole number from 0 to "
                  "18446744073709551615"},
        Malformed{When(R"("nth": 1.5)"),
                  "rule 1 (x): when.nth is 1.5: it takes a whole number from 0 to "
                  "18446744073709551615"},
        Malformed{When(R"("nth": 0)"), "rule 1 (x): when.nth is 0: events are counted from 1"},
        Malformed{When(R"("every": 0)"), "rule 1 (x): when.every is 0: it takes 1 or more"},
        Malformed{When(R"("max": 0)"), "rule 1 (x): when.max is 0: the rule could never fire"},
        Malformed{When(R"("probability": 0)"),
                  "rule 1 (x): when.probability is 0: it takes more than 0 and at most 1"},
        Malformed{When(R"("probability": 1.5)"),
                  "rule 1 (x): when.probability is 1.5: it takes more than 0 and at most 1"},
        Malformed{When(R"("probability": true)"),
                  "rule 1 (x): when.probability is true: it takes a number"},
        Malformed{When(R"("peer": [])"),
                  "rule 1 (x): when.peer is an empty list: leave it out to match everything"},
        Malformed{When(R"("peer": [1, 4294967296])"),
                  "rule 1 (x): when.peer is 4294967296: it takes a whole number from 0 to "
                  "4294967295"},
        Malformed{When(R"("nic": 3)"), "rule 1 (x): when.nic is 3: it takes a text"},
        Malformed{When(R"("sticky": 1)"), "rule 1 (x): when.sticky is 1: it takes true or false"},
        Malformed{When(R"("operation": "writes")"),
                  "rule 1 (x): when.operation is \"writes\": send, receive, write, read, "
                  "remote_write, tagged_send, tagged_receive or atomic"},
        Malformed{When(R"("direction": "left")"),
                  "rule 1 (x): when.direction is \"left\": any, initiator or target"},
        Malformed{When(R"("window": 5)"), "rule 1 (x): when.window is 5: it takes an object"},
        Malformed{When(R"("burst": {"len": 0})"),
                  "rule 1 (x): when.burst.len is 0: it takes a whole number from 1 to "
                  "18446744073709551615"},
        Malformed{Rule(R"("fault": "short_read", "parameters": {"entries": 0})"),
                  "rule 1 (x): parameters.entries is 0: it takes a whole number from 1 to 1000000"},
        Malformed{Rule(R"("fault": "short_read", "parameters": {"delay_ns": 5})"),
                  "rule 1 (x): parameters.delay_ns is no key here"},
        Malformed{Rule(R"("fault": "open_domain_fails", "parameters": {"error": "bad"})"),
                  "rule 1 (x): parameters.error is \"bad\": a code of docs/errors.md in "
                  "snake_case, such as no_memory"},
        Malformed{Rule(R"("fault": "unsignalled_error", "parameters": {"status": 17})"),
                  "rule 1 (x): parameters.status is 17, which EFA does not define"}));

INSTANTIATE_TEST_SUITE_P(
    Contradictions, MalformedTest,
    ::testing::Values(
        Malformed{When(R"("nth": 3, "every": 2)"), "rule 1 (x): when.nth contradicts when.every"},
        Malformed{When(R"("nth": 3, "probability": 0.5)"),
                  "rule 1 (x): when.nth contradicts when.probability"},
        Malformed{When(R"("nth": 3, "skip": 1)"), "rule 1 (x): when.nth contradicts when.skip"},
        Malformed{When(R"("nth": 3, "max": 1)"), "rule 1 (x): when.nth contradicts when.max"},
        Malformed{When(R"("sticky": true, "max": 5)"),
                  "rule 1 (x): when.sticky contradicts when.max"},
        Malformed{When(R"("sticky": true, "burst": {"len": 5})"),
                  "rule 1 (x): when.sticky contradicts when.burst"},
        Malformed{When(R"("size": {"min": 5, "max": 4})"),
                  "rule 1 (x): when.size is empty: min is over max"},
        Malformed{When(R"("window": {"from_ns": 5, "to_ns": 5})"),
                  "rule 1 (x): when.window is empty: to_ns has to be after from_ns"},
        Malformed{When(R"("immediate": {"mask": 1, "value": 2})"),
                  "rule 1 (x): when.immediate never matches: value has bits that mask lacks"},
        Malformed{When(R"("operation": ["write", "receive"])"),
                  "rule 1 (x): when.operation has receive, which send_queue_full does not happen "
                  "to"},
        Malformed{Rule(R"("fault": "open_domain_fails", "when": {"peer": 1})"),
                  "rule 1 (x): when.peer has no meaning for open_domain_fails"},
        Malformed{Rule(R"("fault": "short_read", "when": {"size": {"min": 1}})"),
                  "rule 1 (x): when.size has no meaning for short_read"},
        Malformed{Rule(R"("fault": "short_read", "expect_fired": {"min": 3, "max": 2})"),
                  "rule 1 (x): expect_fired is empty: min is over max"},
        Malformed{Rule(R"("fault": "short_read", "when": {"max": 2}, "expect_fired": {"min": 3})"),
                  "rule 1 (x): expect_fired contradicts when.max: it could never fire so often"}));

INSTANTIATE_TEST_SUITE_P(
    Legality, MalformedTest,
    ::testing::Values(
        Malformed{R"({"rules": [{"fault": "send_queue_full"}]})",
                  "rule 1 (send_queue_full): fault send_queue_full is adversarial, and the plan's "
                  "mode is strict"},
        Malformed{R"({"mode": "illegal", "rules": [{"fault": "lost_completion"}]})",
                  "rule 1 (lost_completion): legality is missing: lost_completion is illegal, and "
                  "needs \"legality\": \"illegal\""},
        Malformed{Rule(R"("fault": "lost_completion", "legality": "illegal")"),
                  "rule 1 (x): fault lost_completion is illegal, and the plan's mode is "
                  "adversarial"},
        Malformed{Rule(R"("fault": "short_read", "legality": "illegal")"),
                  "rule 1 (x): legality is illegal, and short_read is strict"}));

// Whose words these are differs between versions of the library; it is one line all the same.
TEST(MalformedTextTest, WhatIsNoJsonIsRefused) {
  for (const std::string text : {"", "{", "nonsense", "{\"rules\": [}", "{} {}", "\xff\xfe",
                                 "{\"rules\": [] // no comments\n}"}) {
    const absl::Status status = ParseFaultPlan(text).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not JSON: ")))
        << text;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n"))) << text;
  }
  EXPECT_THAT(ParseFaultPlan(std::string(100000, '[')).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseFaultPlan(std::string(1000, '[') + std::string(1000, ']')).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "it is nested too deeply"));
}

// Writes a file of the test's own, and reads it as a plan.
absl::StatusOr<FaultPlan> ReadFile(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/plan.json";
  std::ofstream(path, std::ios::binary) << text;
  return ReadFaultPlan(path);
}

TEST(PlanFileTest, AFileIsReadAndNamedWhereItIsRefused) {
  const auto plan = ReadFile(R"({"rules": [{"name": "x", "fault": "bad_destination"}]})");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->rules.size(), 1u);
  EXPECT_THAT(ReadFile("nonsense").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/plan.json: not JSON: ")));
  EXPECT_THAT(ReadFile(std::string((1 << 20) + 1, ' ')).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("/plan.json: a fault plan has at most 1048576 bytes")));
  EXPECT_THAT(
      ReadFaultPlan("/no/such/plan.json").status(),
      StatusIs(absl::StatusCode::kNotFound, "/no/such/plan.json: No such file or directory"));
  EXPECT_THAT(ReadFaultPlan("/").status(),
              StatusIs(absl::StatusCode::kNotFound, "/: it cannot be read"));
}

}  // namespace
}  // namespace drydock::fabric::faults
