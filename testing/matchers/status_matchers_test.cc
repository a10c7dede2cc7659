#include "drydock/testing/matchers/status_matchers.h"

#include "gtest/gtest.h"

namespace drydock::testing_matchers {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StatusMatchersTest, TellErrorsByCodeAndMessage) {
  EXPECT_THAT(absl::OkStatus(), IsOk());
  EXPECT_THAT(absl::NotFoundError("no nic"), Not(IsOk()));
  EXPECT_THAT(absl::NotFoundError("no nic"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nic")));
  EXPECT_THAT(absl::NotFoundError("no nic"), Not(StatusIs(absl::StatusCode::kInternal)));
  EXPECT_THAT(absl::NotFoundError("no nic"),
              Not(StatusIs(absl::StatusCode::kNotFound, HasSubstr("page"))));
}

TEST(StatusMatchersTest, LookIntoResults) {
  EXPECT_THAT(absl::StatusOr<int>(7), IsOkAndHolds(7));
  EXPECT_THAT(absl::StatusOr<int>(7), Not(IsOkAndHolds(8)));
  EXPECT_THAT(absl::StatusOr<int>(absl::AbortedError("x")), Not(IsOkAndHolds(7)));
  EXPECT_THAT(absl::StatusOr<int>(absl::AbortedError("x")), StatusIs(absl::StatusCode::kAborted));
}

}  // namespace
}  // namespace drydock::testing_matchers
