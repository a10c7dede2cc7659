// Real time: the same operations, limits and errors on the machine's own clock. Nothing here
// depends on how fast the machine is: waiting is for conditions, and its limit is for failing.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "drydock/sim/testing/lab.h"
#include "drydock/sim/testing/raw_work.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::Access;
using fabric::Completion;
using fabric::ErrorCode;
using fabric::OperationKind;

constexpr std::uint64_t kBad = 0xbad;

// Timeouts short enough to wait for.
sim::Profile Quick() {
  sim::Profile profile = Small();
  profile.unreachable_timeout = 2ms;
  profile.unresponsive_timeout = 2ms;
  return profile;
}

class RealTimeTest : public ::testing::Test {
 protected:
  RealTimeTest()
      : lab_(1, Quick(), sim::ClockKind::kReal),
        a_(lab_.Add("a")),
        b_(lab_.Add("b")),
        c_(lab_.Add("c")) {
    lab_.Introduce();
  }

  void ExpectStatus(std::uint64_t context, std::int32_t status) {
    const Completion completion = lab_.Take(a_, context);
    EXPECT_EQ(completion.provider_error, status) << "context " << context;
    EXPECT_EQ(completion.error, fabric::FromEfaStatus(static_cast<std::uint8_t>(status)));
  }

  // Long enough for retries and timeouts to have come, and short enough to wait for.
  void ExpectNoMore() { lab_.ExpectNoMore(5ms); }

  Lab lab_;
  Side& a_;
  Side& b_;
  Side& c_;
};

// ---- Operations that succeed ----

TEST_F(RealTimeTest, EveryKindOfOperationOfManySizes) {
  EXPECT_TRUE(!lab_.world().IsVirtual());
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{4096}, std::size_t{8928},
        std::size_t{8929}, std::size_t{100000}}) {
    Fill(a_.Bytes(0, length), length + 1);
    Fill(b_.Bytes(110000, length), length + 2);
    fabric::WriteRequest write = a_.WriteTo(b_, 0, length, 1);
    write.immediate = 17;
    ASSERT_EQ(a_.endpoint->Write(write), ErrorCode::kOk);
    ASSERT_EQ(a_.endpoint->Read(a_.ReadFrom(b_, 110000, length, 2)), ErrorCode::kOk);
    ExpectStatus(1, 0);
    ExpectStatus(2, 0);
    const Completion told = lab_.TakeNameless(b_);
    EXPECT_EQ(told.immediate, 17u);
    EXPECT_EQ(told.length_bytes, length);
    EXPECT_EQ(told.source, b_.PeerOf(a_));
    EXPECT_TRUE(Holds(b_.Bytes(0, length), length + 1)) << length;
    EXPECT_TRUE(Holds(a_.Bytes(110000, length), length + 2)) << length;
    if (length > 8928) continue;
    ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(220000, length, 3)), ErrorCode::kOk);
    ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, length, 4)), ErrorCode::kOk);
    ExpectStatus(4, 0);
    EXPECT_EQ(lab_.Take(b_, 3).length_bytes, length);
    EXPECT_TRUE(Holds(b_.Bytes(220000, length), length + 1)) << length;
  }
  ExpectNoMore();
}

TEST_F(RealTimeTest, WritesOfSeveralMebibytes) {
  constexpr std::size_t kLength = 6 << 20;
  std::vector<std::byte> source(kLength);
  std::vector<std::byte> target(kLength + 64);
  Fill(source, 1);
  const auto from =
      Must(a_.domain->RegisterMemory({.data = source.data(), .length_bytes = kLength}));
  const auto to = Must(b_.domain->RegisterMemory({.data = target.data(), .length_bytes = kLength}));
  fabric::WriteRequest write{.source = from->Local(), .target = to->remote()};
  write.peer = a_.PeerOf(b_);
  write.context = fabric::Context{1};
  ASSERT_EQ(a_.endpoint->Write(write), ErrorCode::kOk);
  ExpectStatus(1, 0);
  EXPECT_TRUE(Holds(std::span(target).first(kLength), 1));
  EXPECT_TRUE(IsZero(std::span(target).subspan(kLength)));
}

TEST_F(RealTimeTest, BatchesAreServedInAnyOrder) {
  std::uint64_t turned = 0;
  constexpr std::uint64_t kRounds = 50;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    std::vector<fabric::WriteRequest> writes;
    for (std::uint64_t i = 1; i <= 10; ++i) writes.push_back(a_.WriteTo(b_, 0, 64, i));
    ASSERT_EQ(a_.endpoint->Write(writes).accepted, 10u);
    lab_.Until([&] { return a_.completions.size() == 10; });
    std::set<std::uint64_t> contexts;
    for (std::size_t i = 0; i < a_.completions.size(); ++i) {
      contexts.insert(NumberOf(a_.completions[i]));
      turned += NumberOf(a_.completions[i]) != i + 1 ? 1 : 0;
    }
    EXPECT_EQ(contexts.size(), 10u);
    a_.completions.clear();
  }
  EXPECT_GT(turned, kRounds * 5);
}

TEST_F(RealTimeTest, FullQueueSaysAgainUntilItIsRead) {
  const std::size_t depth = a_.endpoint->limits().send_queue_depth;
  std::size_t posted = 0;
  while (a_.endpoint->Write(a_.WriteTo(b_, 0, 64, posted + 1)) == ErrorCode::kOk) ++posted;
  EXPECT_EQ(posted, depth);
  EXPECT_EQ(a_.endpoint->Write(a_.WriteTo(b_, 0, 64, 9)), ErrorCode::kAgain);
  lab_.Until([&] { return a_.completions.size() == depth; });
  EXPECT_EQ(a_.endpoint->Write(a_.WriteTo(b_, 0, 64, 9)), ErrorCode::kOk);
}

TEST_F(RealTimeTest, ManyOperationsEndOnceEach) {
  std::uint64_t next = 1;
  std::set<std::uint64_t> ended;
  while (ended.size() < 20000) {
    for (int i = 0; i < 8 && next <= 20000; ++i, ++next) {
      const ErrorCode error = next % 5 == 0 ? a_.endpoint->Read(a_.ReadFrom(b_, 0, 100, next))
                                            : a_.endpoint->Write(a_.WriteTo(b_, 0, 100, next));
      if (error == ErrorCode::kAgain) break;
      ASSERT_EQ(error, ErrorCode::kOk);
    }
    lab_.Pump();
    for (const Completion& completion : a_.completions) {
      ASSERT_TRUE(completion.ok());
      ASSERT_TRUE(ended.insert(NumberOf(completion)).second);
    }
    a_.completions.clear();
  }
  ExpectNoMore();
}

TEST_F(RealTimeTest, Loopback) { lab_.ExpectWorks(a_, a_); }

TEST_F(RealTimeTest, Datagrams) {
  Side& from = lab_.AddBeside(a_, {.type = fabric::EndpointType::kDatagram});
  Side& to = lab_.AddBeside(b_, {.type = fabric::EndpointType::kDatagram});
  from.Insert(to);
  to.Insert(from);
  ASSERT_EQ(from.endpoint->Send(from.SendTo(to, 0, 100, 1)), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(from, 1).ok());  // dropped: no receive
  ASSERT_EQ(to.endpoint->Recv(to.RecvAt(0, 200, 2)), ErrorCode::kOk);
  ASSERT_EQ(from.endpoint->Send(from.SendTo(to, 0, 100, 3)), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(from, 3).ok());
  EXPECT_EQ(lab_.Take(to, 2).length_bytes, 100u);
  // A datagram queue pair writes to no peer, not even to one that takes writes.
  from.Insert(b_);
  for (Side* target : {&to, &b_}) {
    PlaceRaw(from, RawWrite(from, *target, 0, 64));
    RingRaw(from);
    EXPECT_EQ(lab_.TakeNameless(from).provider_error, 3);
  }
  ExpectNoMore();
}

TEST_F(RealTimeTest, InjectedWritesAndSolicitedImmediates) {
  Side& wide = lab_.AddBeside(a_, {.receives_take_immediates = true, .inject_bytes = 80});
  Side& target = lab_.AddBeside(b_, {.receives_take_immediates = true});
  wide.Insert(target);
  target.Insert(wide);
  std::vector<std::byte> bytes(80);
  Fill(bytes, 1);
  fabric::WriteRequest write = wide.WriteTo(target, 0, 0, 1);
  write.source = {.data = bytes.data(), .length_bytes = 80, .local_key = 0};
  write.inject = true;
  write.immediate = 5;
  ASSERT_EQ(wide.endpoint->Write(write), ErrorCode::kOk);
  lab_.Watch(5ms);
  EXPECT_TRUE(wide.completions.empty());  // it waits for a receive
  ASSERT_EQ(target.endpoint->Recv(target.RecvAt(4096, 64, 2)), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(wide, 1).ok());
  EXPECT_EQ(lab_.Take(target, 2).immediate, 5u);
  EXPECT_TRUE(Holds(target.Bytes(0, 80), 1));
}

// ---- Operations that fail ----

TEST_F(RealTimeTest, BadKeysRangesAndRightsFailAlone) {
  fabric::WriteRequest write = a_.WriteTo(b_, 0, 4096, 1);
  write.source.local_key ^= 2;
  ASSERT_EQ(a_.endpoint->Write(write), ErrorCode::kOk);
  write = a_.WriteTo(b_, 0, 4096, 2);
  write.target.key ^= 2;
  ASSERT_EQ(a_.endpoint->Write(write), ErrorCode::kOk);
  write = a_.WriteTo(b_, 0, 4096, 3);
  write.target.address += Side::kBytes - 4095;
  ASSERT_EQ(a_.endpoint->Write(write), ErrorCode::kOk);
  const auto readable = b_.Register(0, 4096, Access::kReceive | Access::kRemoteRead);
  write = a_.WriteTo(b_, 0, 4096, 4);
  write.target = readable->remote();
  ASSERT_EQ(a_.endpoint->Write(write), ErrorCode::kOk);
  fabric::ReadRequest read = a_.ReadFrom(b_, 0, 4096, 5);
  read.source.key ^= 2;
  ASSERT_EQ(a_.endpoint->Read(read), ErrorCode::kOk);
  Fill(a_.Bytes(8192, 64), 1);
  ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(b_, 8192, 64, 6)), ErrorCode::kOk);
  ExpectStatus(1, 5);
  for (std::uint64_t context = 2; context <= 5; ++context) ExpectStatus(context, 7);
  ExpectStatus(6, 0);
  EXPECT_TRUE(IsZero(b_.Bytes(0, 8192)));
  ExpectNoMore();
}

TEST_F(RealTimeTest, LimitsAreThoseOfTheDevice) {
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, 8929, 1)), ErrorCode::kOk);
  ExpectStatus(1, 6);
  ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(0, 99, 2)), ErrorCode::kOk);
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, 100, 3)), ErrorCode::kOk);
  ExpectStatus(3, 11);
}

TEST_F(RealTimeTest, MalformedWorkFailsAlone) {
  void* slot = PlaceRaw(a_, RawWrite(a_, b_, 0, 64));
  static_cast<fabric::efa_queue::NarrowWqe*>(slot)->meta.ctrl2 ^= 1;
  RingRaw(a_);
  ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(b_, 0, 64, 1)), ErrorCode::kOk);
  EXPECT_EQ(lab_.TakeNameless(a_).provider_error, 2);
  ExpectStatus(1, 0);
  EXPECT_EQ(a_.nic.counters().malformed_work, 1u);
}

TEST_F(RealTimeTest, SendWaitsForAReceive) {
  Fill(a_.Bytes(0, 100), 1);
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, 100, 1)), ErrorCode::kOk);
  lab_.Watch(5ms);
  EXPECT_TRUE(a_.completions.empty());
  ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(0, 100, 2)), ErrorCode::kOk);
  ExpectStatus(1, 0);
  EXPECT_TRUE(lab_.Take(b_, 2).ok());
  EXPECT_TRUE(Holds(b_.Bytes(0, 100), 1));
}

TEST_F(RealTimeTest, FinitePatienceEnds) {
  Side& hasty = lab_.AddBeside(a_, {.retries = 3});
  hasty.Insert(b_);
  ASSERT_EQ(hasty.endpoint->Send(hasty.SendTo(b_, 0, 100, 1)), ErrorCode::kOk);
  EXPECT_EQ(lab_.Take(hasty, 1).provider_error, 10);
}

TEST_F(RealTimeTest, ClosedAndUnknownPeers) {
  ASSERT_TRUE(c_.peers->Remove(c_.PeerOf(a_)).ok());
  ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(c_, 0, 64, 1)), ErrorCode::kOk);
  ASSERT_EQ(a_.endpoint->Read(a_.ReadFrom(c_, 0, 64, 2)), ErrorCode::kOk);
  ExpectStatus(1, 14);
  ExpectStatus(2, 14);
  ASSERT_TRUE(c_.endpoint->Close().ok());
  ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(c_, 0, 64, 3)), ErrorCode::kOk);
  ExpectStatus(3, 9);
}

TEST_F(RealTimeTest, SilentPeers) {
  lab_.ExpectWorks(a_, b_);
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, 100, 1)), ErrorCode::kOk);  // waits for a receive
  lab_.Watch(1ms);
  b_.node.Kill();
  ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(b_, 0, 64, 2)), ErrorCode::kOk);
  ExpectStatus(1, 13);
  ExpectStatus(2, 13);
  lab_.world().Block(a_.node, c_.node);
  ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(c_, 0, 64, 3)), ErrorCode::kOk);
  ExpectStatus(3, 15);
  EXPECT_TRUE(IsZero(c_.Bytes(0, 64)));
  ExpectNoMore();
}

TEST_F(RealTimeTest, BlockedWayBackIsSilence) {
  lab_.world().Block(b_.node, a_.node);
  ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(b_, 0, 64, 1)), ErrorCode::kOk);
  ASSERT_EQ(a_.endpoint->Read(a_.ReadFrom(b_, 0, 64, 2)), ErrorCode::kOk);
  ExpectStatus(1, 15);
  ExpectStatus(2, 15);
  lab_.world().Unblock(b_.node, a_.node);
  lab_.ExpectWorks(a_, b_);
}

// A peer that wrote to us has been heard from, in whatever way the device served the write.
TEST_F(RealTimeTest, PeerThatWroteToUsHasBeenHeard) {
  ASSERT_EQ(b_.endpoint->Write(b_.WriteTo(a_, 0, 64, 1)), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(b_, 1).ok());
  b_.node.Kill();
  ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(b_, 0, 64, 2)), ErrorCode::kOk);
  ExpectStatus(2, 13);
}

TEST_F(RealTimeTest, ResetAndNonsense) {
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, 100, 1)), ErrorCode::kOk);  // waits for a receive
  lab_.Watch(1ms);
  b_.node.Reset();
  ExpectStatus(1, 8);
  ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(b_, 0, 64, 2)), ErrorCode::kOk);
  ExpectStatus(2, 9);
  c_.nic.set_answers_nonsense(true);
  ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(c_, 0, 64, 3)), ErrorCode::kOk);
  ASSERT_EQ(a_.endpoint->Read(a_.ReadFrom(c_, 0, 64, 4)), ErrorCode::kOk);
  ExpectStatus(3, 12);
  ExpectStatus(4, 12);
}

// Of two equal writes, the second one finds that something has ended.
TEST(RealTimeEndsTest, AWriteMeetsWhatEndedSinceTheLastOne) {
  struct Case {
    const char* what;
    std::function<void(Lab& lab, Side& a, Side& b)> happens;
    std::int32_t status;
  };
  const std::vector<Case> cases = {
      {"nothing", [](Lab&, Side&, Side&) {}, 0},
      {"the target's endpoint closes",
       [](Lab&, Side&, Side& b) { EXPECT_TRUE(b.endpoint->Close().ok()); }, 9},
      {"the target forgets us",
       [](Lab&, Side& a, Side& b) { EXPECT_TRUE(b.peers->Remove(b.PeerOf(a)).ok()); }, 14},
      {"the target's region closes",
       [](Lab&, Side&, Side& b) { EXPECT_TRUE(b.region->Close().ok()); }, 7},
      {"our region closes", [](Lab&, Side& a, Side&) { EXPECT_TRUE(a.region->Close().ok()); }, 5},
      {"the target's device restarts", [](Lab&, Side&, Side& b) { b.node.Reset(); }, 9},
      {"our device restarts", [](Lab&, Side& a, Side&) { a.node.Reset(); }, 1},
      {"the target dies", [](Lab&, Side&, Side& b) { b.node.Kill(); }, 13},
      {"the way there is blocked",
       [](Lab& lab, Side& a, Side& b) { lab.world().Block(a.node, b.node); }, 13},
      {"the way back is blocked",
       [](Lab& lab, Side& a, Side& b) { lab.world().Block(b.node, a.node); }, 13},
      {"the target breaks", [](Lab&, Side&, Side& b) { b.nic.set_answers_nonsense(true); }, 12},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    Lab lab(1, Quick(), sim::ClockKind::kReal);
    lab.AllowFindings(sim::Check::kUseAfterDeregister);
    Side& a = lab.Add("a");
    Side& b = lab.Add("b");
    lab.Introduce();
    fabric::WriteRequest write = a.WriteTo(b, 0, 64, 1);
    ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
    EXPECT_EQ(lab.Take(a, 1).provider_error, 0);
    one.happens(lab, a, b);
    write.context = ContextOf(2);
    ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
    EXPECT_EQ(lab.Take(a, 2).provider_error, one.status);
  }
}

TEST_F(RealTimeTest, ClosedEndpointEndsItsWorkInSilence) {
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, 100, 1)), ErrorCode::kOk);  // waits for a receive
  lab_.Watch(1ms);
  ASSERT_EQ(a_.endpoint->Write(a_.WriteTo(b_, 0, 64, kBad)), ErrorCode::kOk);  // rung, not served
  ASSERT_TRUE(a_.endpoint->Close().ok());
  ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(0, 100, 2)), ErrorCode::kOk);
  ExpectNoMore();
  EXPECT_TRUE(IsZero(b_.Bytes(0, 100)));
}

TEST_F(RealTimeTest, OverrunLosesEntries) {
  Side& small = lab_.AddBeside(a_, {.queue_depth = 4});
  small.Insert(b_);
  b_.Insert(small);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    ASSERT_EQ(small.endpoint->Write(small.WriteTo(b_, 0, 64, i)), ErrorCode::kOk);
  }
  lab_.world().timeline().RunDue();
  EXPECT_EQ(small.nic.counters().completions_lost, 16u);
  lab_.Watch(1ms);
  EXPECT_EQ(small.completions.size(), 4u);
  lab_.ExpectFinding(sim::Check::kCompletionQueueCapacity, 16);
}

TEST_F(RealTimeTest, AFindingHasTheTimeOfTheClock) {
  lab_.Watch(2ms);
  Side& small = lab_.AddBeside(a_, {.queue_depth = 4});
  small.Insert(b_);
  b_.Insert(small);
  for (std::uint64_t i = 1; i <= 5; ++i) {
    ASSERT_EQ(small.endpoint->Write(small.WriteTo(b_, 0, 64, i)), ErrorCode::kOk);
  }
  lab_.world().timeline().RunDue();
  ASSERT_EQ(lab_.world().findings().size(), 1u);
  EXPECT_GE(lab_.world().findings()[0].first, 2ms);
  lab_.ExpectFinding(sim::Check::kCompletionQueueCapacity, 1);
}

// ---- With the delays of a profile ----

TEST(RealTimeWithDelaysTest, OperationsTakeTheirTime) {
  sim::Profile profile = Calm();
  profile.one_way.fixed = 2ms;
  Lab lab(1, profile, sim::ClockKind::kReal, nullptr, /*real_delays=*/true);
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  Fill(a.Bytes(0, 40000), 1);
  ASSERT_EQ(b.endpoint->Recv(b.RecvAt(65536, 1000, 3)), ErrorCode::kOk);
  const coro::Time began = lab.world().Now();
  ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 40000, 1)), ErrorCode::kOk);
  EXPECT_TRUE(lab.Take(a, 1).ok());
  EXPECT_GE(lab.world().Now() - began, 4ms);  // there and back
  EXPECT_TRUE(Holds(b.Bytes(0, 40000), 1));
  const coro::Time sent = lab.world().Now();
  ASSERT_EQ(a.endpoint->Send(a.SendTo(b, 0, 1000, 2)), ErrorCode::kOk);
  EXPECT_TRUE(lab.Take(b, 3).ok());
  EXPECT_GE(lab.world().Now() - sent, 2ms);
  EXPECT_TRUE(lab.Take(a, 2).ok());
  lab.ExpectWorks(b, a);
  lab.ExpectNoMore();
}

}  // namespace
}  // namespace drydock::sim_testing
