// A forked child of a program, and the objects of its parent.

#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "drydock/sim/verbs/testing/end.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

class ForkTest : public ::testing::Test {
 protected:
  End end_{{.ready = false}};
};

// A forked child does not own its parent's objects; it may open devices itself.
TEST_F(ForkTest, AForkedChildIsAnotherMachine) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ibv_context* context = OpenDevice(0);
    ibv_gid gid{};
    const bool opened = context != nullptr && ibv_query_gid(context, 1, 0, &gid) == 0;
    const bool another = std::memcmp(gid.raw, end_.gid.raw, sizeof gid.raw) != 0;
    _exit(opened && another ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// As libfabric does at the end of every process that has loaded it: nothing is waited for, and the
// parent still has what it had.
TEST_F(ForkTest, AForkedChildCannotEndItsParentsObjects) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto refused = [](int result) { return result == EBUSY; };
    _exit(refused(ibv_destroy_qp(end_.queue_pair)) && refused(ibv_dereg_mr(end_.region)) &&
                  refused(ibv_dealloc_pd(end_.domain)) && refused(ibv_close_device(end_.context))
              ? 0
              : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace drydock::sim_testing
