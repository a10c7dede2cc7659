#include "drydock/testing/harness/body_scenario.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "drydock/coro/event_loop.h"
#include "gtest/gtest.h"

namespace drydock::harness {
namespace {

using sim::explore::Outcome;
using sim::explore::Trial;

// What tells WrongData from an error that the program met.
constexpr char kWrongDataMark[] = "wrong data: ";

bool IsWrongData(const absl::Status& status) {
  return absl::IsDataLoss(status) && absl::StartsWith(status.message(), kWrongDataMark);
}

class BodyTest : public ::testing::Test {
 public:
  explicit BodyTest(std::function<void()> run) : run_(std::move(run)) {}
  void TestBody() override { run_(); }

 private:
  const std::function<void()> run_;
};

}  // namespace

absl::Status WrongData(std::string_view what) {
  return absl::DataLossError(absl::StrCat(kWrongDataMark, std::string(what)));
}

Outcome BodyScenario::Run(Trial& trial) const {
  coro::EventLoop loop(trial.clock());
  absl::Status status = loop.Run(body_(trial));
  if (!IsWrongData(status)) return Outcome::Of(std::move(status));
  return Outcome::WrongData(std::string(absl::StripPrefix(status.message(), kWrongDataMark)));
}

int FailedParts() {
  const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
  if (info == nullptr) return 0;
  int failed = 0;
  for (int i = 0; i < info->result()->total_part_count(); ++i) {
    failed += info->result()->GetTestPartResult(i).failed() ? 1 : 0;
  }
  return failed;
}

void RegisterTest(const char* suite, const std::string& name, const char* file, int line,
                  std::function<void()> run) {
  ::testing::RegisterTest(suite, name.c_str(), nullptr, nullptr, file, line,
                          [run]() -> BodyTest* { return new BodyTest(run); });
}

}  // namespace drydock::harness
