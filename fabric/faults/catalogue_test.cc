// The catalogue makes sense, and docs/faults.md is the catalogue.

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/faults/fault.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/fabric/faults/plan_json.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::faults {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::testing::IsEmpty;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

TEST(CatalogueTest, HoldsAtLeastFortyFaultsInFiveGroups) {
  EXPECT_GE(Catalogue().size(), 40u);
  std::map<char, int> groups;
  for (const FaultInfo& info : Catalogue()) {
    // P1, P2, ... without a gap: the numbers of a group are in order.
    EXPECT_EQ(View(info.id.substr(1)), absl::StrCat(++groups[info.id[0]])) << info.name;
  }
  EXPECT_EQ(groups.size(), 5u);
}

TEST(CatalogueTest, EveryFaultHasItsOwnNameAndEffect) {
  std::set<std::string_view> names, effects;
  for (const FaultInfo& info : Catalogue()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(effects.insert(info.effect).second) << info.effect;
    EXPECT_TRUE(info.device || info.decorator) << info.name;
    EXPECT_EQ(FaultFromName(info.name), info.fault);
    EXPECT_EQ(&Describe(info.fault), &info);
  }
  EXPECT_EQ(FaultFromName("nonsense"), std::nullopt);
}

// With its defaults, each fault is a valid plan of its own legality.
TEST(CatalogueTest, DefaultsAreWithinTheirRanges) {
  for (const FaultInfo& info : Catalogue()) {
    FaultPlan plan{.mode = info.legality, .rules = {FaultRule::Of(info.fault)}};
    plan.rules[0].illegal = info.legality == Legality::kIllegal;
    EXPECT_THAT(Validate(plan), IsOk()) << info.name;
  }
}

TEST(CatalogueDeathTest, ARefusedFaultIsNamed) {
  EXPECT_DEATH(RefuseFault(Fault::kNodePauses), "fault L11 .node_pauses.");
}

// Every status that EFA defines, and the `efa` fabric's own.
TEST(CatalogueTest, EveryEfaStatusHasItsFault) {
  std::set<std::int32_t> covered;
  for (const FaultInfo& info : Catalogue()) {
    const std::optional<std::int32_t> status = StatusOf(info.fault);
    if (!status.has_value()) continue;
    EXPECT_TRUE(covered.insert(*status).second) << info.name;
    EXPECT_EQ(info.point, Point::kOutcome) << info.name;
  }
  for (int status = 1; status < 256; ++status) {
    const bool defined = FromEfaStatus(static_cast<std::uint8_t>(status)) != ErrorCode::kOther;
    EXPECT_EQ(covered.count(status), defined ? 1u : 0u) << status;
  }
  EXPECT_EQ(covered.count(4127), 1u);
  EXPECT_EQ(covered.size(), 17u);
}

TEST(CatalogueTest, StatusFaultsAreCalledAfterTheirStatus) {
  for (const FaultInfo& info : Catalogue()) {
    const std::optional<std::int32_t> status = StatusOf(info.fault);
    if (!status.has_value()) continue;
    const std::string said = absl::StrCat(*status == 4127 ? "number " : "status ", *status, ", k",
                                          View(Name(ErrorOfStatus(*status))));
    EXPECT_NE(std::string(info.effect).find(said), std::string::npos) << info.name << ": " << said;
  }
}

TEST(CatalogueTest, OperationNamesGoBothWays) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(OperationKind::kAtomic); ++i) {
    const auto kind = static_cast<OperationKind>(i);
    EXPECT_EQ(OperationFromName(NameInPlan(kind)), kind);
  }
}

// ---- The page ----

struct Row {
  std::string fixed;    // id, name and effect, as the table shows them
  std::string example;  // of a selector
  std::string tail;     // legality and layer
};

std::string LayersOf(const FaultInfo& info) {
  if (info.device && info.decorator) return "both";
  return info.device ? "device" : "decorator";
}

std::map<std::string, Row> DocumentedRows() {
  std::ifstream file("docs/faults.md");
  EXPECT_TRUE(file.is_open());
  std::map<std::string, Row> rows;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    // | P1 | `name` | effect | `selector` | legality | layer |
    if (cells.size() != 6 || cells[1].front() != '`') continue;
    const std::string name = cells[1].substr(1, cells[1].size() - 2);
    const Row row{absl::StrCat(cells[0], " | ", cells[1], " | ", cells[2]), cells[3],
                  absl::StrCat(cells[4], " | ", cells[5])};
    EXPECT_TRUE(rows.emplace(name, row).second) << "two rows for " << name;
  }
  return rows;
}

TEST(FaultsPageTest, TableIsTheCatalogue) {
  std::map<std::string, Row> rows = DocumentedRows();
  for (const FaultInfo& info : Catalogue()) {
    const std::string name(info.name);
    const std::string fixed =
        absl::StrCat("| ", View(info.id), " | `", name, "` | ", View(info.effect));
    const std::string tail = absl::StrCat(View(Name(info.legality)), " | ", LayersOf(info), " |");
    ASSERT_EQ(rows.count(name), 1u) << "docs/faults.md lacks a row:\n" << fixed;
    EXPECT_EQ(rows[name].fixed, fixed);
    EXPECT_EQ(rows[name].tail, tail) << name;
    rows.erase(name);
  }
  EXPECT_THAT(rows, IsEmpty());
}

// Each example can be pasted into a plan.
TEST(FaultsPageTest, ExamplesAreSelectors) {
  std::set<std::string> keys;
  for (const auto& [name, row] : DocumentedRows()) {
    ASSERT_GT(row.example.size(), 2u) << name;
    const std::string selector = row.example.substr(1, row.example.size() - 2);
    const std::optional<Fault> fault = FaultFromName(name);
    ASSERT_TRUE(fault.has_value()) << name;
    const bool illegal = Describe(*fault).legality == Legality::kIllegal;
    const std::string plan =
        absl::StrCat(R"({"mode": "illegal", "rules": [{"fault": ")", name, "\"",
                     illegal ? R"(, "legality": "illegal")" : "", R"(, "when": )", selector, "}]}");
    EXPECT_THAT(ParseFaultPlan(plan).status(), IsOk()) << plan;
  }
}

// The page tells every parameter with its default: "`delay_ns` 1000".
TEST(FaultsPageTest, ParametersAreTold) {
  std::ifstream file("docs/faults.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const ParameterInfo& info : ParameterTable()) {
    EXPECT_NE(page.find(absl::StrCat("| `", View(info.name), "` | ")), std::string::npos)
        << info.name;
  }
}

}  // namespace
}  // namespace drydock::fabric::faults
