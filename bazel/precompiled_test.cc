// That GoogleTest comes precompiled where it should: without it everything works, only slowly.

#include "gtest/gtest.h"

namespace {

TEST(PrecompiledTest, GccTakesThePrecompiledHeaderAndNotItsText) {
#ifdef DRYDOCK_PRECOMPILED
  constexpr bool kPrecompiled = true;
#else
  constexpr bool kPrecompiled = false;
#endif
  EXPECT_TRUE(kPrecompiled) << "GCC refused the header: build this test alone and read the warning";
}

}  // namespace
