#include "drydock/fabric/async/may_have_had_effect.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::async {
namespace {

using ::testing::ElementsAre;

TEST(MayHaveHadEffectTest, FewFailuresOfASendAreCertain) {
  std::vector<ErrorCode> certain;
  for (const ErrorInfo& info : ErrorTable()) {
    if (!MayHaveHadEffect(info.code, OperationKind::kSend)) certain.push_back(info.code);
  }
  EXPECT_THAT(certain, ElementsAre(ErrorCode::kAgain, ErrorCode::kUnsupported, ErrorCode::kClosed,
                                   ErrorCode::kBusy, ErrorCode::kNoMemory,
                                   ErrorCode::kReceiverNotReady, ErrorCode::kFeatureMismatch));
}

TEST(MayHaveHadEffectTest, AWritesBytesLandBeforeItsImmediateLooksForAReceive) {
  EXPECT_TRUE(MayHaveHadEffect(ErrorCode::kReceiverNotReady, OperationKind::kWrite));
}

}  // namespace
}  // namespace drydock::fabric::async
