// What docs/tutorial.md shows of a program that waits for ever: a test that is meant to fail.

#include "drydock/testing/harness/seed_test.h"
#include "drydock/testing/tutorial/picture.h"

namespace tutorial = drydock::tutorial;

namespace {

DD_SEED_TEST(Picture, WithoutDeadline, {.seeds = 200}) {
  co_return co_await tutorial::TransferPicture(trial, tutorial::kForEver);
}

}  // namespace
