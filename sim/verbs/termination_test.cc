#include "drydock/sim/verbs/termination.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <mutex>

#include "drydock/testing/harness/sanitizer.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using sim::verbs::BeforeTermination;
using sim::verbs::TerminationDelay;

constexpr char kReady = 'r', kSaid = 's', kRanOn = 'o', kHangs = 'h';

int told[2];  // what children tell

void Tell(char what) {
  if (write(told[1], &what, 1) != 1) _exit(99);
}

// 0: the child has nothing more to tell, and is not there.
char Told() {
  char what = 0;
  return read(told[0], &what, 1) == 1 ? what : '\0';
}

void SayIt() {
  usleep(100'000);
  Tell(kSaid);
}
void SayItSlowly() {
  Tell(kHangs);
  SayIt();
}
void SayNothingForLong() {
  Tell(kHangs);
  for (;;) pause();
}

std::mutex at_work;  // held by what must come to its end first
void SayItAfterwards() {
  const std::lock_guard lock(at_work);
  Tell(kSaid);
}

// Waits for a signal, which comes at no other moment: children are started with all of them held
// back.
void AwaitSignal() {
  sigset_t none;
  sigemptyset(&none);
  sigsuspend(&none);
}

class TerminationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (harness::kThreadSanitized) {
      GTEST_SKIP() << "the thread sanitizer keeps signals back until a handler has ended";
    }
  }
  // A child that calls BeforeTermination and then does this; it is ready. Signals come to it in
  // AwaitSignal.
  void Start(void (*say)(), const std::function<void()>& then) {
    ASSERT_EQ(pipe(told), 0);
    child_ = fork();
    if (child_ == 0) {
      sigset_t all;
      sigfillset(&all);
      sigprocmask(SIG_BLOCK, &all, nullptr);
      BeforeTermination(say);
      Tell(kReady);
      then();
      Tell(kRanOn);
      _exit(0);
    }
    close(told[1]);
    ASSERT_EQ(Told(), kReady);
  }
  // The signal that it died of, or minus its exit status.
  int End() const {
    int status = 0;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
  }
  ~TerminationTest() override {
    if (child_ != 0) close(told[0]);
  }

  pid_t child_ = 0;
};

TEST_F(TerminationTest, NobodyRunsOnFromACallThatWasInterrupted) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    Start(&SayIt, &AwaitSignal);
    kill(child_, signal);
    EXPECT_EQ(End(), signal);
    EXPECT_EQ(Told(), kSaid);
    EXPECT_EQ(Told(), '\0');
    if (signal != SIGHUP) close(told[0]);
  }
}

TEST_F(TerminationTest, WhatDelaysItComesToItsEndFirst) {
  Start(&SayItAfterwards, [] {
    const TerminationDelay outer;
    const std::lock_guard lock(at_work);
    {
      const TerminationDelay inner;
      AwaitSignal();
    }
    Tell('u');
  });
  kill(child_, SIGTERM);
  EXPECT_EQ(Told(), 'u');
  EXPECT_EQ(Told(), kSaid);
  EXPECT_EQ(End(), SIGTERM);
  EXPECT_EQ(Told(), '\0');
}

TEST_F(TerminationTest, ASecondSignalEndsOneThatHangs) {
  Start(&SayNothingForLong, &AwaitSignal);
  kill(child_, SIGTERM);
  EXPECT_EQ(Told(), kHangs);
  usleep(500'000);  // two within 300 ms count as one
  EXPECT_EQ(waitpid(child_, nullptr, WNOHANG), 0) << "it did not hang";
  const auto second = std::chrono::steady_clock::now();
  kill(child_, SIGTERM);
  EXPECT_EQ(End(), SIGTERM);
  EXPECT_LT(std::chrono::steady_clock::now() - second, std::chrono::seconds(20));
}

TEST_F(TerminationTest, TheSameSignalTwiceInARowIsOne) {
  // Where no processor was there for 300 ms, they were not in a row.
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (attempt > 0) close(told[0]);
    Start(&SayItSlowly, &AwaitSignal);
    kill(child_, SIGTERM);
    EXPECT_EQ(Told(), kHangs);
    kill(child_, SIGTERM);
    EXPECT_EQ(End(), SIGTERM);
    if (Told() == kSaid) return;
  }
  FAIL() << "the second signal is never the first one's";
}

TEST_F(TerminationTest, AForkedChildDiesByItself) {
  Start(&SayIt, [] {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      for (;;) AwaitSignal();
    }
    kill(grandchild, SIGTERM);
    int status = 0;
    waitpid(grandchild, &status, 0);
    Tell(WIFSIGNALED(status) ? 'd' : '?');
  });
  EXPECT_EQ(Told(), 'd');
  EXPECT_EQ(Told(), kRanOn);
  EXPECT_EQ(End(), 0);
}

}  // namespace
}  // namespace drydock::sim_testing
