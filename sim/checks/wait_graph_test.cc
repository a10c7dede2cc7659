// Which endpoint waits for which: the graph by itself, and the message of a world that stands
// still.

#include "drydock/sim/checks/wait_graph.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "drydock/sim/checks/checks.h"
#include "drydock/sim/testing/lab.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::ErrorCode;
using sim::WaitGraph;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(WaitGraphTest, CycleIsFoundBehindNodesThatAreNotInIt) {
  WaitGraph graph;
  for (const char* name : {"a", "b", "c", "d"}) graph.AddNode(name);
  graph.AddEdge(0, 1, "to go");
  graph.AddEdge(1, 3, "to go");
  graph.AddEdge(1, 2, "to speak");
  graph.AddEdge(2, 1, "to listen");
  EXPECT_THAT(graph.Cycle(), ElementsAre(1, 2));
  graph.AddNote(0, "stands still");
  EXPECT_THAT(graph.ToText(), AllOf(HasSubstr("  a\n    stands still\n"),
                                    HasSubstr("b waits for c to speak, c waits for b to listen")));
}

TEST(WaitGraphTest, GraphWithoutACycleHasNone) {
  WaitGraph graph;
  for (const char* name : {"a", "b", "c", "d"}) graph.AddNode(name);
  graph.AddEdge(0, 1, "");
  graph.AddEdge(0, 2, "");
  graph.AddEdge(1, 3, "");
  graph.AddEdge(2, 3, "");
  EXPECT_THAT(graph.Cycle(), IsEmpty());
  EXPECT_THAT(graph.Summary(), Not(HasSubstr("cycle")));
}

TEST(WaitGraphTest, NodeThatWaitsForItselfIsACycle) {
  WaitGraph graph;
  graph.AddNode("a");
  graph.AddEdge(0, 0, "to post a receive");
  EXPECT_THAT(graph.Cycle(), ElementsAre(0));
}

TEST(WaitGraphTest, SummaryIsOneLineOfTheFirstNodes) {
  WaitGraph graph;
  EXPECT_EQ(graph.Summary(), "nobody has posted anything that is still open");
  for (std::size_t i = 0; i < 6; ++i) {
    graph.AddNode("node" + std::to_string(i));
    graph.AddNote(i, "first");
    graph.AddNote(i, "second");
  }
  EXPECT_THAT(graph.Summary(), AllOf(HasSubstr("node0: first (and 1 more); node1: first"),
                                     HasSubstr("; and 2 endpoints more"), Not(HasSubstr("node4")),
                                     Not(HasSubstr("\n"))));
}

// ---- Of a world ----

class WaitsOfAWorldTest : public ::testing::Test {
 protected:
  WaitsOfAWorldTest() : lab_(1), a_(lab_.Add("a")), b_(lab_.Add("b")) { lab_.Introduce(); }

  void Send(Side& from, Side& to, std::uint64_t context) {
    ASSERT_EQ(from.endpoint->Send(from.SendTo(to, 0, 64, context)), ErrorCode::kOk);
  }
  std::string Text() { return lab_.world().checks().DescribeWaits().ToText(); }

  Lab lab_;
  Side& a_;
  Side& b_;
};

TEST_F(WaitsOfAWorldTest, NobodyWaitsInTheBeginningAndAfterTheEnd) {
  const std::string nothing =
      "who waits for whom:\n  nobody has posted anything that is still open\n";
  EXPECT_EQ(Text(), nothing);
  lab_.ExpectWorks(a_, b_);
  EXPECT_EQ(Text(), nothing);
}

TEST_F(WaitsOfAWorldTest, TwoThatSendAndDoNotReceiveAreACycle) {
  Send(a_, b_, 7);
  Send(b_, a_, 8);
  lab_.Watch();
  EXPECT_THAT(Text(),
              AllOf(HasSubstr("a/rdmap79s0 queue pair 0\n    send of 64 bytes with context 7, "
                              "posted after "),
                    HasSubstr("finds no receive at b/rdmap79s0 queue pair 0\n"),
                    HasSubstr("cycle: a/rdmap79s0 queue pair 0 waits for b/rdmap79s0 queue "
                              "pair 0 to post a receive, b/rdmap79s0 queue pair 0 waits for "
                              "a/rdmap79s0 queue pair 0 to post a receive\n")));
}

// A server and its idle client, which both have receives posted all the time.
TEST_F(WaitsOfAWorldTest, TwoThatReceiveAndDoNotSendAreNoCycle) {
  for (Side* side : {&a_, &b_}) {
    ASSERT_EQ(side->endpoint->Recv(side->RecvAt(0, 64, 1)), ErrorCode::kOk);
  }
  EXPECT_THAT(Text(),
              AllOf(HasSubstr("    1 receive waits for a message\n"), Not(HasSubstr("cycle"))));
}

TEST_F(WaitsOfAWorldTest, ReceiveThatAMessageHasTakenWaitsForNone) {
  for (std::uint64_t context = 1; context <= 2; ++context) {
    ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(64 * context, 64, context)), ErrorCode::kOk);
  }
  Send(a_, b_, 7);
  lab_.world().timeline().RunFor(5ms);
  EXPECT_THAT(Text(), HasSubstr("    1 receive waits for a message\n"));
}

// The device has a descriptor of each segment.
TEST_F(WaitsOfAWorldTest, ReceiveOfTwoSegmentsIsOne) {
  for (std::uint64_t context = 1; context <= 2; ++context) {
    const fabric::LocalBuffer second = b_.Local(256 + 64 * context, 64);
    fabric::RecvRequest receive = b_.RecvAt(64 * context, 64, context);
    receive.more = {&second, 1};
    ASSERT_EQ(b_.endpoint->Recv(receive), ErrorCode::kOk);
  }
  EXPECT_THAT(Text(), HasSubstr("    2 receives wait for a message\n"));
  Send(a_, b_, 7);
  lab_.world().timeline().RunFor(5ms);
  EXPECT_THAT(Text(), HasSubstr("    1 receive waits for a message\n"));
}

TEST_F(WaitsOfAWorldTest, SendWithoutReceiveIsNoCycle) {
  Send(a_, b_, 7);
  lab_.Watch();
  EXPECT_THAT(Text(), AllOf(HasSubstr("==> waits for b/rdmap79s0 queue pair 0 to post a receive\n"),
                            Not(HasSubstr("cycle"))));
}

TEST_F(WaitsOfAWorldTest, WriteUnderWayAndItsUnreadCompletionAreTold) {
  ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(b_, 0, 64, 7)), ErrorCode::kOk);
  EXPECT_THAT(Text(), HasSubstr("write of 64 bytes with context 7, posted after 0 ns, is under way "
                                "to b/rdmap79s0 queue pair 0\n"));
  lab_.world().timeline().RunFor(5ms);
  EXPECT_THAT(Text(), AllOf(HasSubstr("completion queue 0 has entries that nobody reads"),
                            HasSubstr("has ended, and nobody reads its completion")));
}

TEST_F(WaitsOfAWorldTest, FullQueueAndWhatItRefusedAreTold) {
  b_.node.Kill();
  std::uint64_t context = 1;
  while (a_.endpoint->Write(a_.WriteTo(b_, 64 * context, 64, context)) == ErrorCode::kOk) ++context;
  const std::string depth = std::to_string(context - 1);
  EXPECT_THAT(Text(), AllOf(HasSubstr("write of 64 bytes with context " + std::to_string(context) +
                                      " was refused, and not tried again\n"),
                            HasSubstr("all " + depth + " slots of the send queue are taken\n"),
                            HasSubstr(" more that are in flight\n")));
}

TEST(LostCompletionTest, LostCompletionIsTold) {
  Lab lab(1);
  Side& a = lab.Add("a", {.queue_depth = 4});
  Side& b = lab.Add("b");
  lab.Introduce();
  for (std::uint64_t i = 1; i <= 6; ++i) {
    ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 64 * i, 64, i)), ErrorCode::kOk);
  }
  lab.world().timeline().RunFor(5ms);
  lab.ExpectFinding(sim::Check::kCompletionQueueCapacity, 2);
  lab.Pump();
  EXPECT_THAT(lab.world().checks().DescribeWaits().ToText(),
              AllOf(HasSubstr("completion queue 0 has lost 2 entries\n"),
                    HasSubstr("has ended, but its completion was lost\n")));
}

}  // namespace
}  // namespace drydock::sim_testing
