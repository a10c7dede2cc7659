// What docs/tutorial.md shows of a program that waits for ever: a test that is meant to fail.

#include "testing/harness/seed_test.h"
#include "testing/tutorial/picture.h"

namespace {

DD_SEED_TEST(Picture, WithoutDeadline, {.seeds = 200}) {
  co_return co_await tutorial::TransferPicture(trial, tutorial::kForEver);
}

}  // namespace
