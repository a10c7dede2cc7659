#include "drydock/fabric/libfabric/library.h"

#include <signal.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "drydock/fabric/libfabric/api.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::libfabric {
namespace {

using ::drydock::testing_matchers::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

TEST(LibraryTest, TheInstalledOneHasWhatItsHeadersPromise) {
  const absl::StatusOr<Library>& library = InstalledLibrary();
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_GE(library->version(), FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION));
  EXPECT_STREQ(library->strerror(FI_ENODATA), "No data available");
  const std::uint32_t format = FI_ADDR_EFA;
  EXPECT_STREQ(library->tostr(&format, FI_TYPE_ADDR_FORMAT), "FI_ADDR_EFA");
  const std::unique_ptr<fi_info, decltype(Library::freeinfo)> info(library->dupinfo(nullptr),
                                                                   library->freeinfo);
  ASSERT_NE(info, nullptr);
  EXPECT_NE(info->ep_attr, nullptr);
  EXPECT_EQ((*RealApi())->Version(), library->version());
}

TEST(LibraryTest, TheProgramsSignalsStayItsOwn) {
  ASSERT_TRUE(InstalledLibrary().ok());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGBUS, SIGILL, SIGABRT}) {
    struct sigaction action {};
    ASSERT_EQ(sigaction(signal, nullptr, &action), 0);
    EXPECT_EQ(action.sa_handler, SIG_DFL) << signal;
  }
}

TEST(LibraryTest, OneThatCannotBeLoadedIsRefusedInOneLine) {
  EXPECT_THAT(LoadLibrary("libnobodyhas.so.1").status(),
              StatusIs(kRefused, AllOf(StartsWith("libfabric cannot be used: "),
                                       HasSubstr("libnobodyhas.so.1"), HasSubstr("libfabric1"),
                                       Not(HasSubstr("\n")))));
  EXPECT_THAT(LoadLibrary("libc.so.6").status(),
              StatusIs(kRefused, AllOf(HasSubstr("fi_version"), Not(HasSubstr("\n")))));
}

TEST(LibraryTest, OneThatIsOlderThanTheHeadersIsRefused) {
  const char* const old = std::getenv("OLD_LIBRARY");
  ASSERT_NE(old, nullptr);
  EXPECT_THAT(LoadLibrary(old).status(),
              StatusIs(kRefused, AllOf(HasSubstr("libold.so is 1.0, older than the "),
                                       Not(HasSubstr("\n")))));
}

}  // namespace
}  // namespace drydock::fabric::libfabric
