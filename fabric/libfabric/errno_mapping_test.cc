#include "drydock/fabric/libfabric/errno_mapping.h"

#include <rdma/fi_errno.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::libfabric {
namespace {

using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;

// Every symbol that the table of errors names, with its number.
const std::map<std::string, int>& Symbols() {
  static const auto& symbols = *new std::map<std::string, int>{
#define SYMBOL(name) {#name, name}
      SYMBOL(FI_SUCCESS),      SYMBOL(FI_EAGAIN),      SYMBOL(FI_ECANCELED),
      SYMBOL(FI_EINVAL),       SYMBOL(FI_EBADFLAGS),   SYMBOL(FI_EOPNOTSUPP),
      SYMBOL(FI_ENOSYS),       SYMBOL(FI_EOPBADSTATE), SYMBOL(FI_EBUSY),
      SYMBOL(FI_ENOMEM),       SYMBOL(FI_EACCES),      SYMBOL(FI_EKEYREJECTED),
      SYMBOL(FI_ENOKEY),       SYMBOL(FI_EMSGSIZE),    SYMBOL(FI_ETRUNC),
      SYMBOL(FI_ENOTCONN),     SYMBOL(FI_ENORX),       SYMBOL(FI_ECONNABORTED),
      SYMBOL(FI_ECONNRESET),   SYMBOL(FI_ETIMEDOUT),   SYMBOL(FI_EHOSTUNREACH),
      SYMBOL(FI_ECONNREFUSED), SYMBOL(FI_EREMOTEIO),   SYMBOL(FI_EIO),
      SYMBOL(FI_EOVERRUN),     SYMBOL(FI_EOTHER),      SYMBOL(FI_EBADF),
#undef SYMBOL
  };
  return symbols;
}

bool Lists(const ErrorInfo& info, absl::string_view symbol) {
  for (absl::string_view listed :
       absl::StrSplit(absl::string_view(info.libfabric.data(), info.libfabric.size()), '/')) {
    if (listed == symbol) return true;
  }
  return false;
}

// The table that people read and the switch that decides must agree: each number maps to a row that
// lists it.
TEST(ErrnoMappingTest, EveryNumberMapsToARowThatListsIt) {
  for (const auto& [symbol, number] : Symbols()) {
    EXPECT_TRUE(Lists(fabric::Describe(FromErrno(number)), symbol)) << symbol;
    EXPECT_EQ(FromErrno(number), FromErrno(-number)) << symbol;
  }
}

TEST(ErrnoMappingTest, TableNamesNoSymbolThatIsUnknownHere) {
  for (const ErrorInfo& info : ErrorTable()) {
    if (info.libfabric == "-") continue;
    for (absl::string_view symbol :
         absl::StrSplit(absl::string_view(info.libfabric.data(), info.libfabric.size()), '/')) {
      EXPECT_EQ(Symbols().count(std::string(symbol)), 1u) << symbol;
    }
  }
}

TEST(ErrnoMappingTest, EfaStatusTellsMoreThanItsErrno) {
  EXPECT_EQ(FromErrorEntry(true, FI_EINVAL, 5), ErrorCode::kLocalAccess);
  EXPECT_EQ(FromErrorEntry(true, FI_EINVAL, 7), ErrorCode::kRemoteAccess);
  EXPECT_EQ(FromErrorEntry(true, FI_ENOTCONN, 9), ErrorCode::kBadDestination);
  EXPECT_EQ(FromErrorEntry(true, FI_ENOTCONN, 14), ErrorCode::kUnknownPeer);
  EXPECT_EQ(FromErrorEntry(true, FI_ECONNABORTED, 4124), ErrorCode::kPeerUnresponsive);
  EXPECT_EQ(FromErrorEntry(true, FI_ECANCELED, 4127), ErrorCode::kPeerAborted);
  EXPECT_EQ(FromErrorEntry(false, FI_ECANCELED, 4127), ErrorCode::kCanceled);
  EXPECT_EQ(FromErrorEntry(true, FI_ENOMEM, 4105),
            ErrorCode::kNoMemory);  // EFA's software: by errno
}

TEST(ErrnoMappingTest, OtherProvidersNumbersMeanNothing) {
  EXPECT_EQ(FromErrorEntry(false, FI_EINVAL, 7), ErrorCode::kInvalidArgument);
  EXPECT_EQ(FromErrorEntry(false, -FI_ETRUNC, 265), ErrorCode::kTruncated);  // shm's sign
}

TEST(ErrnoMappingTest, AnErrorEntryIsNeverASuccess) {
  EXPECT_EQ(FromErrorEntry(false, 0, 0), ErrorCode::kOther);
  EXPECT_EQ(FromErrorEntry(true, 0, 0), ErrorCode::kOther);
  // A provider below EFA's (shm) gives errnos, of which libfabric's own begin at 256.
  EXPECT_EQ(FromErrorEntry(true, FI_EOTHER, FI_EOTHER), ErrorCode::kOther);
  EXPECT_EQ(FromErrorEntry(true, FI_ETRUNC, FI_ETRUNC), ErrorCode::kTruncated);
  for (int status = 1; status < 4096; ++status) {
    EXPECT_NE(FromErrorEntry(true, FI_EIO, status), ErrorCode::kOk) << status;
  }
  EXPECT_EQ(FromErrno(99999), ErrorCode::kOther);
}

TEST(ErrnoMappingTest, ControlErrorHasTheLibrarysWords) {
  EXPECT_THAT(ControlError(-FI_ENOMEM, "register 4096 B on efa rdmap0s0: fi_mr_regattr"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("register 4096 B on efa rdmap0s0"),
                             HasSubstr("Cannot allocate memory"), HasSubstr("(-12)"))));
}

}  // namespace
}  // namespace drydock::fabric::libfabric
