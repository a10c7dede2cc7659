#include "drydock/sim/verbs/trace.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/trace/testing/trace_checker.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/verbs/settings.h"
#include "drydock/sim/verbs/testing/end.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/harness/sanitizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using fabric::trace::CheckedSlice;
using fabric::trace::CheckedTrace;
using sim::verbs::Trace;
using sim::verbs::TraceFileOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(TraceFileTest, TheProcessStandsBeforeTheExtension) {
  EXPECT_EQ(TraceFileOf("out.json", 17), "out.17.json");
  EXPECT_EQ(TraceFileOf("a.b.json", 17), "a.b.17.json");
  EXPECT_EQ(TraceFileOf("out", 17), "out.17");
  EXPECT_EQ(TraceFileOf("/tmp/run.1/out", 17), "/tmp/run.1/out.17");
  EXPECT_EQ(TraceFileOf("/tmp/run.1/out.json", 17), "/tmp/run.1/out.17.json");
  EXPECT_EQ(TraceFileOf(".hidden", 17), ".hidden.17");
  EXPECT_EQ(TraceFileOf("folder/.hidden", 17), "folder/.hidden.17");
}

TEST(TraceFileTest, ALaterLifeHasItsNumber) {
  EXPECT_EQ(TraceFileOf("out.json", 17, 2), "out.17.2.json");
  EXPECT_EQ(TraceFileOf("out", 17, 3), "out.17.3");
}

TEST(TraceFileTest, AFileThatCannotBeMade) {
  sim::World world(/*seed=*/1, **sim::FindProfile("small"));
  world.AddNode("host");
  const std::string file = ::testing::TempDir() + "no-such-folder/trace.json";
  const absl::Status status = Trace::Open(file, 1, world, 1, nullptr).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(status.message().find(TraceFileOf(file, getpid())), absl::string_view::npos) << status;
}

// A program of libibverbs in this process is traced as the environment asks.
class TraceTest : public ::testing::Test {
 protected:
  static std::string File() { return ::testing::TempDir() + "trace.json"; }
  static void SetUpTestSuite() { setenv(sim::verbs::kTraceVariable, File().c_str(), 1); }

  // Each test opens devices, posts something, and closes all of them, once.
  void SetUp() override { ++lives_; }
  // After everything was closed.
  static CheckedTrace Trace() { return Trace(getpid(), lives_); }
  static CheckedTrace Trace(int pid, int life) {
    std::ostringstream text;
    text << std::ifstream(TraceFileOf(File(), pid, life), std::ios::binary).rdbuf();
    CheckedTrace trace = fabric::trace::CheckTrace(text.str());
    EXPECT_THAT(trace.problems, IsEmpty());
    return trace;
  }
  // The path of the only operation of this kind.
  static std::string PathOf(const CheckedTrace& trace, const std::string& kind) {
    std::string path;
    for (const CheckedSlice& post : trace.Of("post")) {
      if (post.arguments.at("kind") != "\"" + kind + "\"") continue;
      EXPECT_EQ(path, "") << "a second " << kind;
      path = trace.PathOf("0." + post.arguments.at("op"));
    }
    return path;
  }

  static int lives_;
};

int TraceTest::lives_ = 0;

TEST_F(TraceTest, AMessageIsFollowedFromPostToPoll) {
  {
    End a, b;
    Fill({a.at(0), 100}, 1);
    ASSERT_EQ(b.Receive(1, {b.Segment(512, 200)}), 0);
    ASSERT_EQ(a.Send(b, 2, {a.Segment(0, 100)}), 0);
    EXPECT_EQ(Await(b.receive_queue).wr_id, 1u);
    EXPECT_EQ(Await(a.send_queue).wr_id, 2u);
  }
  const CheckedTrace trace = Trace();
  EXPECT_THAT(PathOf(trace, "send"), HasSubstr("post packet place"));
  EXPECT_THAT(PathOf(trace, "send"), HasSubstr("completion poll"));
  EXPECT_EQ(PathOf(trace, "receive"), "post completion poll");
  EXPECT_THAT(trace.Of("doorbell"), SizeIs(2));
  for (const CheckedSlice& post : trace.Of("post")) {
    EXPECT_THAT(post.arguments.at("segments"), HasSubstr("region"));
  }
  EXPECT_THAT(trace.marks, IsEmpty());
}

TEST_F(TraceTest, InlineBytesAndImmediatesAreTold) {
  {
    End a, b;
    ASSERT_EQ(b.Receive(1, {b.Segment(0, 64)}), 0);
    ASSERT_EQ(a.Send(b, 2, {a.Segment(0, 16)}, 77, IBV_SEND_SIGNALED | IBV_SEND_INLINE), 0);
    EXPECT_EQ(Await(b.receive_queue).immediate, 77u);
    EXPECT_EQ(Await(a.send_queue).wr_id, 2u);
  }
  const CheckedTrace trace = Trace();
  ASSERT_THAT(trace.Of("post"), SizeIs(2));
  const CheckedSlice send = trace.Of("post")[1];
  EXPECT_EQ(send.arguments.at("bytes"), "16");
  EXPECT_EQ(send.arguments.at("inject"), "true");
  EXPECT_EQ(send.arguments.at("imm"), "77");
  EXPECT_THAT(PathOf(trace, "send"), HasSubstr("post packet place"));
}

TEST_F(TraceTest, WhatIsOpenedIsClosed) {
  { End a; }
  int open = 0, peers = 0;
  for (const CheckedSlice& object : Trace().Of("object")) {
    if (object.arguments.at("object") == "\"peer\"") ++peers;
    open += object.arguments.at("event") == "\"open\"" ? 1 : -1;
  }
  EXPECT_EQ(open, 0);
  EXPECT_EQ(peers, 0);  // nothing was sent
  --lives_;             // the next one takes the file of a life without any work
}

TEST_F(TraceTest, AnErrorHasItsName) {
  {
    End a;
    {
      End b;
      ASSERT_EQ(a.HandleOf(b) != nullptr, true);
      a.Forget(b);
    }
    End c({.registered = false});
    ibv_sge segment{.addr = a.address(0), .length = 8, .lkey = a.region->lkey + 1};
    ASSERT_EQ(a.Send(c, 3, {segment}), 0);
    EXPECT_NE(Await(a.send_queue).status, IBV_WC_SUCCESS);
  }
  const CheckedTrace trace = Trace();
  ASSERT_THAT(trace.Of("poll"), SizeIs(1));
  EXPECT_THAT(trace.Of("poll")[0].arguments.at("statuses"), Not(HasSubstr("ok")));
  EXPECT_THAT(trace.Of("post"), SizeIs(1));  // nothing of the tests before
}

// Its number is free again, and the queue pair that it leads to then may have the same number, too.
TEST_F(TraceTest, AnAddressHandleThatComesAgainLeadsToAnotherPeer) {
  {
    End a, b({.nic = 0});
    End other({.nic = 1}), c({.nic = 1});
    ASSERT_EQ(b.queue_pair->qp_num, c.queue_pair->qp_num);
    const std::uint16_t number = End::NumberOf(a.HandleOf(b));
    ASSERT_EQ(b.Receive(3, {b.Segment(0, 64)}), 0);
    ASSERT_EQ(c.Receive(4, {c.Segment(0, 64)}), 0);
    ASSERT_EQ(a.Send(b, 1, {a.Segment(0, 8)}), 0);
    EXPECT_EQ(Await(a.send_queue).status, IBV_WC_SUCCESS);
    a.Forget(b);
    ASSERT_EQ(End::NumberOf(a.HandleOf(c)), number);
    ASSERT_EQ(a.Send(c, 2, {a.Segment(0, 8)}), 0);
    EXPECT_EQ(Await(a.send_queue).status, IBV_WC_SUCCESS);
  }
  std::set<std::string> addresses;
  const CheckedTrace trace = Trace();
  for (const CheckedSlice& object : trace.Of("object")) {
    if (object.arguments.at("object") == "\"peer\"") {
      addresses.insert(object.arguments.at("address"));
    }
  }
  EXPECT_THAT(addresses, SizeIs(2));
  ASSERT_THAT(trace.Of("post"), SizeIs(4));  // the receives first
  EXPECT_NE(trace.Of("post")[2].arguments.at("peer"), trace.Of("post")[3].arguments.at("peer"));
}

TEST_F(TraceTest, ASecondLifeLeavesTheFirstItsTrace) {
  {
    End a;
    ASSERT_EQ(a.Receive(1, {a.Segment(0, 100)}), 0);
  }
  { End again; }
  EXPECT_THAT(Trace().Of("post"), SizeIs(1));
  ++lives_;
  EXPECT_THAT(Trace().Of("post"), IsEmpty());
  --lives_;
}

// ---- A signal ----

constexpr char kNoThreadsOfChildren[] = "the thread sanitizer lets no forked child start threads";

// Waits for the end of a child; the signal that it died of, or minus its exit status.
int EndOf(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

// A child that has a device open, does this, and is ended in the middle of it.
void ExpectEndedBy(int signal, const std::function<void(End&)>& work, int& child) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  child = fork();
  if (child == 0) {
    End a;
    if (write(ready[1], "x", 1) == 1) work(a);
    _exit(0);  // as a program may that sees EINTR
  }
  close(ready[1]);
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  usleep(20'000);  // it is at work, most likely
  kill(child, signal);
  EXPECT_EQ(EndOf(child), signal);
}

TEST_F(TraceTest, WhoeverIsEndedDiesOfTheSignalAndHasATrace) {
  --lives_;  // it is the child's
  if (harness::kThreadSanitized) GTEST_SKIP() << kNoThreadsOfChildren;
  int child = 0;
  ExpectEndedBy(
      SIGTERM, [](End&) { sleep(60); }, child);
  EXPECT_THAT(Trace(child, 1).Of("object"), Not(IsEmpty()));
  const auto poll = [](End& end) {
    for (;;) Take(end.send_queue);
  };
  ExpectEndedBy(SIGINT, poll, child);
  EXPECT_THAT(Trace(child, 1).Of("object"), Not(IsEmpty()));
}

bool raises_in_fork = false;

// Before the library's constructors: this is called when the library has got ready for a fork.
[[gnu::constructor(101)]] void RaiseWithinForks() {
  pthread_atfork(
      [] {
        if (std::exchange(raises_in_fork, false)) raise(SIGTERM);
      },
      nullptr, nullptr);
}

// A fork holds what the last words need: they come after it.
TEST_F(TraceTest, WhoeverIsEndedWithinAForkHasATrace) {
  --lives_;  // it is the child's
  if (harness::kThreadSanitized) GTEST_SKIP() << kNoThreadsOfChildren;
  const pid_t child = fork();
  if (child == 0) {
    End a;
    raises_in_fork = true;
    if (fork() == 0) _exit(0);
    _exit(1);
  }
  EXPECT_EQ(EndOf(child), SIGTERM);
  EXPECT_THAT(Trace(child, 1).Of("object"), Not(IsEmpty()));
}

}  // namespace
}  // namespace drydock::sim_testing
