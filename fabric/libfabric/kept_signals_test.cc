#include "drydock/fabric/libfabric/kept_signals.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::libfabric {
namespace {

void Handle(int) {}
void WithInfo(int, siginfo_t*, void*) {}

// Whose handlers those of this test are.
constexpr char kThisTest[] = "kept_signals_test";

struct sigaction ActionOf(int signal) {
  struct sigaction action {};
  EXPECT_EQ(sigaction(signal, nullptr, &action), 0);
  return action;
}

class KeptSignalsTest : public ::testing::Test {
 protected:
  ~KeptSignalsTest() override {
    for (const int signal : {SIGUSR1, SIGUSR2, SIGHUP}) Set(signal, SIG_DFL);
  }

  static void Set(int signal, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    ASSERT_EQ(sigaction(signal, &action, nullptr), 0);
  }
};

TEST_F(KeptSignalsTest, WhatTheLibraryTakesComesBack) {
  Set(SIGUSR2, SIG_IGN);
  struct sigaction with_info {};
  with_info.sa_sigaction = WithInfo;
  with_info.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGHUP, &with_info, nullptr), 0);
  {
    const KeptSignals kept(kThisTest);
    for (const int signal : {SIGUSR1, SIGUSR2, SIGHUP}) Set(signal, Handle);
  }
  EXPECT_EQ(ActionOf(SIGUSR1).sa_handler, SIG_DFL);
  EXPECT_EQ(ActionOf(SIGUSR2).sa_handler, SIG_IGN);
  EXPECT_EQ(ActionOf(SIGHUP).sa_sigaction, WithInfo);
  EXPECT_TRUE(ActionOf(SIGHUP).sa_flags & SA_SIGINFO);
}

TEST_F(KeptSignalsTest, WhatOthersSetMeanwhileStays) {
  {
    const KeptSignals kept("libnobodyhas");
    Set(SIGUSR1, Handle);
    Set(SIGUSR2, SIG_IGN);
  }
  EXPECT_EQ(ActionOf(SIGUSR1).sa_handler, Handle);
  EXPECT_EQ(ActionOf(SIGUSR2).sa_handler, SIG_IGN);
}

int received = 0;

TEST_F(KeptSignalsTest, ASignalThatEndsTheProgramWaits) {
  Set(SIGHUP, [](int) { ++received; });
  {
    const KeptSignals kept;
    raise(SIGHUP);
    EXPECT_EQ(received, 0);
  }
  EXPECT_EQ(received, 1);
}

}  // namespace
}  // namespace drydock::fabric::libfabric
