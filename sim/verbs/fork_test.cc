// A forked child of a program, and the objects of its parent.

#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

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

// A child that hangs ends by this signal: what it inherits is ours.
constexpr unsigned kGuardSeconds = 40;

// Whatever other threads are in the midst of when this one forks: the child finds it whole.
TEST(ForkBesideThreadsTest, AForkedChildOpensWhileItsParentsThreadsDo) {
  constexpr int kForks = 30;
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&over] {
      while (!over) {
        ibv_context* const context = OpenDevice(0);
        if (context != nullptr) ibv_close_device(context);
      }
    });
  }
  int wrong = 0;
  for (int i = 0; i < kForks && wrong == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGALRM, SIG_DFL);
      alarm(kGuardSeconds);
      ibv_context* const context = OpenDevice(0);
      _exit(context != nullptr && ibv_close_device(context) == 0 ? 0 : 1);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
      ADD_FAILURE() << "child " << i << ": " << status;
      ++wrong;
    }
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace drydock::sim_testing
