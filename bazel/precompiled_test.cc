// That GoogleTest comes precompiled where it should: without it everything works, only slowly.

namespace {

// Before any include of its own, a source has what is precompiled.
TEST(PrecompiledTest, GoogleTestIsThereBeforeItsHeader) {
  EXPECT_EQ(std::vector<int>({1}), std::vector<int>({1}));
}

}  // namespace
