#include "drydock/fabric/libfabric/kept_signals.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::libfabric {
namespace {

void Handle(int) {}
void Another(int) {}
void WithInfo(int, siginfo_t*, void*) {}

void Set(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ASSERT_EQ(sigaction(signal, &action, nullptr), 0);
}

void SetWithInfo(int signal) {
  struct sigaction action {};
  action.sa_sigaction = WithInfo;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(signal, &action, nullptr), 0);
}

struct sigaction ActionOf(int signal) {
  struct sigaction action {};
  EXPECT_EQ(sigaction(signal, nullptr, &action), 0);
  return action;
}

TEST(KeptSignalsTest, WhatALibraryTakesComesBack) {
  Set(SIGUSR1, SIG_DFL);
  Set(SIGUSR2, SIG_IGN);
  Set(SIGTERM, Handle);
  SetWithInfo(SIGHUP);
  {
    const KeptSignals kept;
    for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGHUP}) Set(signal, Another);
  }
  EXPECT_EQ(ActionOf(SIGUSR1).sa_handler, SIG_DFL);
  EXPECT_EQ(ActionOf(SIGUSR2).sa_handler, SIG_IGN);
  EXPECT_EQ(ActionOf(SIGTERM).sa_handler, Handle);
  EXPECT_EQ(ActionOf(SIGHUP).sa_sigaction, WithInfo);
  EXPECT_TRUE(ActionOf(SIGHUP).sa_flags & SA_SIGINFO);
}

}  // namespace
}  // namespace drydock::fabric::libfabric
