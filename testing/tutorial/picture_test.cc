// The last program of docs/tutorial.md: the transfer under faults, with many seeds.

#include "drydock/testing/tutorial/picture.h"

#include <chrono>

#include "drydock/testing/harness/seed_test.h"

namespace tutorial = drydock::tutorial;

namespace {

DD_SEED_TEST(Picture, IsWholeOrCleanlyRefused, {.seeds = 200}) {
  co_return co_await tutorial::TransferPicture(trial, std::chrono::milliseconds(200));
}

}  // namespace
