#include "drydock/fabric/error.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

TEST(ErrorTest, EveryCodeHasItsOwnNameAndMeaning) {
  std::set<std::string_view> names, meanings;
  for (const ErrorInfo& info : ErrorTable()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(meanings.insert(info.meaning).second) << info.meaning;
    EXPECT_EQ(&Describe(info.code), &info);
    EXPECT_EQ(info.status == absl::StatusCode::kOk, info.code == ErrorCode::kOk) << info.name;
  }
  EXPECT_EQ(names.size(), kErrorCodeCount);
}

// The table's EFA column and the switch that maps a status to a code are written apart: they must
// agree.
TEST(ErrorTest, EfaColumnAgreesWithTheMapping) {
  std::set<int> mapped;
  for (const ErrorInfo& info : ErrorTable()) {
    if (info.efa_status == "-") continue;
    for (absl::string_view number : absl::StrSplit(View(info.efa_status), ", ")) {
      const int status = std::stoi(std::string(number));
      EXPECT_EQ(FromEfaStatus(static_cast<std::uint8_t>(status)), info.code) << status;
      mapped.insert(status);
    }
  }
  EXPECT_EQ(mapped.size(), 17u);  // 0 to 15, and 18
  for (int status = 0; status < 256; ++status) {
    if (mapped.count(status) > 0) continue;
    EXPECT_EQ(FromEfaStatus(static_cast<std::uint8_t>(status)), ErrorCode::kOther) << status;
  }
}

TEST(ErrorTest, LocalAndRemoteFaultsStayApart) {
  // libfabric gives FI_EINVAL for 5 and 7, and FI_ENOTCONN for 9 and 14.
  EXPECT_NE(FromEfaStatus(5), FromEfaStatus(7));
  EXPECT_NE(FromEfaStatus(9), FromEfaStatus(14));
}

TEST(ErrorTest, StatusSaysWhatAndWhy) {
  EXPECT_THAT(ToStatus(ErrorCode::kOk, "write"), IsOk());
  EXPECT_THAT(ToStatus(ErrorCode::kRemoteAccess, "write of 4096 B to peer 3"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       "write of 4096 B to peer 3: remote key, range or access right invalid"));
  EXPECT_THAT(ToStatus(static_cast<ErrorCode>(200), "send"),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("see the provider's number")));
}

// docs/errors.md shows this table to people; a row that differs, lacks or is too many fails here.
TEST(ErrorTest, DocumentedTableIsThisTable) {
  std::ifstream file("docs/errors.md");
  ASSERT_TRUE(file.is_open());
  std::set<std::string> documented;
  for (std::string line; std::getline(file, line);) {
    if (absl::StrContains(line, "| `k")) documented.insert(line);
  }
  for (const ErrorInfo& info : ErrorTable()) {
    const std::string row =
        absl::StrCat("| `k", View(info.name), "` | ", View(info.libfabric), " | ",
                     View(info.efa_status), " | ", absl::StatusCodeToString(info.status), " | ",
                     info.retryable ? "yes" : "no", " | ", View(info.meaning), " |");
    EXPECT_EQ(documented.erase(row), 1u) << "docs/errors.md lacks this row:\n" << row;
  }
  EXPECT_THAT(documented, IsEmpty());
}

}  // namespace
}  // namespace drydock::fabric
