// Matchers for absl::Status and absl::StatusOr, which Debian's Abseil lacks.
//
//   EXPECT_THAT(endpoint.Close(), IsOk());
//   EXPECT_THAT(result, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page size")));
//   EXPECT_THAT(domain, IsOkAndHolds(NotNull()));
//
// There is no "is not OK" matcher: a test names the code that it expects.

#ifndef DRYDOCK_TESTING_MATCHERS_STATUS_MATCHERS_H_
#define DRYDOCK_TESTING_MATCHERS_STATUS_MATCHERS_H_

#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace drydock::testing_matchers {

inline const absl::Status& GetStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, negation ? "is an error" : "is OK") {
  const absl::Status& status = GetStatus(arg);
  *result_listener << "which is " << status.ToString();
  return status.ok();
}

MATCHER_P2(StatusIs, code, message,
           "has the code " + absl::StatusCodeToString(code) + " and a message that " +
               ::testing::DescribeMatcher<std::string>(message)) {
  const absl::Status& status = GetStatus(arg);
  *result_listener << "which is " << status.ToString();
  return status.code() == code && ::testing::Matches(message)(std::string(status.message()));
}

inline auto StatusIs(absl::StatusCode code) { return StatusIs(code, ::testing::_); }

MATCHER_P(IsOkAndHolds, value, "is OK and holds the value " + ::testing::PrintToString(value)) {
  if (!arg.ok()) {
    *result_listener << "which is " << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value, *arg, result_listener);
}

}  // namespace drydock::testing_matchers

// Fails the test at once when `expression` is an error; otherwise assigns its value.
#define ASSERT_OK_AND_ASSIGN(target, expression) \
  ASSERT_OK_AND_ASSIGN_(DD_TEST_JOIN(dd_test_result_, __LINE__), target, expression)
#define ASSERT_OK_AND_ASSIGN_(result, target, expression) \
  auto result = (expression);                             \
  ASSERT_TRUE(result.ok()) << result.status();            \
  target = *std::move(result)
#define DD_TEST_JOIN_(a, b) a##b
#define DD_TEST_JOIN(a, b) DD_TEST_JOIN_(a, b)

#endif  // DRYDOCK_TESTING_MATCHERS_STATUS_MATCHERS_H_
