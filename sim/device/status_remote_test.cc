// The statuses of an EFA device that a peer, or its silence, causes (ofiwg/libfabric
// prov/efa/src/efa_errno.h): 7 to 18. The others are in status_local_test.cc.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "drydock/sim/efa_address.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/testing/lab.h"
#include "drydock/sim/testing/scene.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::Access;
using fabric::Completion;
using fabric::ErrorCode;
using fabric::OperationKind;

// Several packets, so that something happens in the middle of it.
constexpr std::size_t kLong = 100 << 10;

// ---- 7: the work request's remote memory is wrong ----

using Regions = std::vector<std::unique_ptr<fabric::MemoryRegion>>;

struct BadTarget {
  std::string name;
  std::function<fabric::RemoteBuffer(Side& target, Regions& open)> where;
};
void PrintTo(const BadTarget& target, std::ostream* os) { *os << target.name; }

class RemoteBadAddressTest : public ::testing::TestWithParam<BadTarget> {};

TEST_P(RemoteBadAddressTest, RemoteBadAddress) {
  Scene s;
  Regions open;
  s.PostGood();
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 4096, kBad);
  fabric::ReadRequest read = s.a.ReadFrom(s.b, 0, 4096, kBad + 1);
  write.target = read.source = GetParam().where(s.b, open);
  write.immediate = 1;
  Fill(s.a.Bytes(0, 4096), 3);
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(read), ErrorCode::kOk);
  s.PostGood();
  EXPECT_EQ(s.TakeFailure(kBad, 7, ErrorCode::kRemoteAccess).kind, OperationKind::kWrite);
  EXPECT_EQ(s.TakeFailure(kBad + 1, 7, ErrorCode::kRemoteAccess).kind, OperationKind::kRead);
  EXPECT_TRUE(IsZero(s.b.memory())) << "something was written";
  EXPECT_TRUE(Holds(s.a.Bytes(0, 4096), 3)) << "something was read";
  s.ExpectTheOthersUnharmed();
  if (GetParam().name == "Closed") s.lab.ExpectFinding(sim::Check::kUseAfterDeregister, 2);
}

fabric::RemoteBuffer Moved(fabric::RemoteBuffer buffer, std::int64_t address, std::uint64_t key) {
  return {buffer.address + static_cast<std::uint64_t>(address), buffer.key ^ key};
}

INSTANTIATE_TEST_SUITE_P(
    Remote, RemoteBadAddressTest,
    ::testing::Values(
        BadTarget{"Key", [](Side& b, Regions&) { return Moved(b.Remote(0), 0, 2); }},
        BadTarget{"GenerationOfTheKey",
                  [](Side& b, Regions&) { return Moved(b.Remote(0), 0, 1u << 18); }},
        BadTarget{"KeyZero",
                  [](Side& b, Regions&) {
                    return fabric::RemoteBuffer{b.Remote(0).address, 0};
                  }},
        BadTarget{"KeyOver32Bits",
                  [](Side& b, Regions&) { return Moved(b.Remote(0), 0, std::uint64_t{1} << 32); }},
        BadTarget{"BeforeTheRegion", [](Side& b, Regions&) { return Moved(b.Remote(0), -1, 0); }},
        BadTarget{"PastTheRegion",
                  [](Side& b, Regions&) { return Moved(b.Remote(0), Side::kBytes - 4095, 0); }},
        BadTarget{"FarAway",
                  [](Side& b, Regions&) {
                    return fabric::RemoteBuffer{8, b.Remote(0).key};
                  }},
        BadTarget{"AtTheEndOfTheAddressSpace",
                  [](Side& b, Regions&) {
                    return fabric::RemoteBuffer{UINT64_MAX - 8, b.Remote(0).key};
                  }},
        BadTarget{"Closed",
                  [](Side& b, Regions&) { return b.Register(0, 4096, Access::kAll)->remote(); }},
        BadTarget{"NoRemoteRights",
                  [](Side& b, Regions& open) {
                    open.push_back(
                        b.Register(0, 4096, Access::kReceive | Access::kWrite | Access::kRead));
                    return open.back()->remote();
                  }}),
    [](const auto& test) { return test.param.name; });

TEST(StatusTest, RemoteBadAddressWithoutTheRight) {
  Scene s;
  const auto readable = s.b.Register(0, 4096, Access::kReceive | Access::kRemoteRead);
  const auto writable = s.b.Register(8192, 4096, Access::kReceive | Access::kRemoteWrite);
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 4096, kBad);
  fabric::ReadRequest read = s.a.ReadFrom(s.b, 8192, 4096, kBad + 1);
  write.target = readable->remote();
  read.source = writable->remote();
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(read), ErrorCode::kOk);
  s.TakeFailure(kBad, 7, ErrorCode::kRemoteAccess);
  s.TakeFailure(kBad + 1, 7, ErrorCode::kRemoteAccess);
  std::swap(write.target, read.source);  // the rights that they have
  write.context = fabric::Context{1};
  read.context = fabric::Context{2};
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(read), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
  s.ExpectTheOthersUnharmed();
}

// EFA's driver lets peers read memory that may be sent from (ofiwg/libfabric
// prov/efa/src/efa_mr.c).
TEST(StatusTest, RightToSendLetsPeersReadAndNotWrite) {
  Scene s;
  const auto region = s.b.Register(0, 4096, Access::kSend);
  fabric::ReadRequest read = s.a.ReadFrom(s.b, 0, 4096, 1);
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 4096, kBad);
  read.source = write.target = region->remote();
  ASSERT_EQ(s.a.endpoint->Read(read), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  s.ExpectOnlyFailure(7, ErrorCode::kRemoteAccess);
}

TEST(StatusTest, RemoteBadAddressOfARegionThatClosesInFlight) {
  Scene s;
  auto part = s.b.Register(0, kLong, Access::kAll);
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, kLong, kBad);
  fabric::ReadRequest read = s.a.ReadFrom(s.b, 0, kLong, kBad + 1);
  write.target = read.source = part->remote();
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(read), ErrorCode::kOk);
  s.lab.world().timeline().RunFor(10us);  // some packets have arrived, or none
  ASSERT_TRUE(part->Close().ok());
  const std::uint64_t then = Checksum(s.b.memory());
  s.TakeFailure(kBad, 7, ErrorCode::kRemoteAccess);
  s.TakeFailure(kBad + 1, 7, ErrorCode::kRemoteAccess);
  s.lab.Watch();
  EXPECT_EQ(Checksum(s.b.memory()), then) << "something landed in a closed region";
  s.ExpectTheOthersUnharmed();
  s.lab.ExpectFinding(sim::Check::kUseAfterDeregister, 2);
}

// ---- 8: the peer's device restarts ----

TEST(StatusTest, RemoteAbort) {
  Scene s;
  s.PostGood();
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, kLong, kBad)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, kLong, kBad + 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, kBad + 2)), ErrorCode::kOk);
  s.lab.world().timeline().RunFor(12us);
  s.b.node.Reset();
  s.PostGood();
  for (std::uint64_t i = 0; i < 3; ++i) s.TakeFailure(kBad + i, 8, ErrorCode::kPeerAborted);
  s.ExpectTheOthersUnharmed();
}

// ---- 9: the target NIC has no such queue pair ----

TEST(StatusTest, RemoteBadQueuePairThatIsClosed) {
  Scene s;
  ASSERT_TRUE(s.b.endpoint->Close().ok());
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, kBad)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, 4096, kBad + 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 4096, kBad + 2)), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < 3; ++i) s.TakeFailure(kBad + i, 9, ErrorCode::kBadDestination);
  EXPECT_TRUE(IsZero(s.b.Bytes(0, 4096)));
  s.ExpectTheOthersUnharmed();
}

TEST(StatusTest, RemoteBadQueuePairWithAnotherQkey) {
  Scene s;
  sim::EfaAddress address = Must(sim::EfaAddress::Decode(s.b.endpoint->address()));
  address.qkey ^= 1;
  const fabric::Peer wrong = Must(s.a.peers->Insert(address.Encode()));
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 4096, kBad);
  write.peer = wrong;
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  s.ExpectOnlyFailure(9, ErrorCode::kBadDestination);
  EXPECT_EQ(s.b.nic.counters().qkey_viol, 1u);
  EXPECT_TRUE(IsZero(s.b.Bytes(0, 4096)));
}

TEST(StatusTest, RemoteBadQueuePairThatNeverWas) {
  Scene s;
  sim::EfaAddress address = Must(sim::EfaAddress::Decode(s.b.endpoint->address()));
  address.queue_pair = 31;
  fabric::SendRequest send = s.a.SendTo(s.b, 0, 100, kBad);
  send.peer = Must(s.a.peers->Insert(address.Encode()));
  ASSERT_EQ(s.a.endpoint->Send(send), ErrorCode::kOk);
  s.ExpectOnlyFailure(9, ErrorCode::kBadDestination);
  EXPECT_EQ(s.b.nic.counters().qkey_viol, 0u);
}

TEST(StatusTest, RemoteBadQueuePairOfADatagramEndpoint) {
  Scene s;
  Side& d = s.lab.AddBeside(s.b, {.type = fabric::EndpointType::kDatagram});
  d.Insert(s.a);
  s.a.Insert(d);
  ASSERT_EQ(d.endpoint->Recv(d.RecvAt(0, 4096, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(d, 0, 100, kBad)), ErrorCode::kOk);
  s.ExpectOnlyFailure(9, ErrorCode::kBadDestination);
}

TEST(StatusTest, RemoteBadQueuePairAfterAReset) {
  Scene s;
  s.b.node.Reset();
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, kBad)), ErrorCode::kOk);
  s.ExpectOnlyFailure(9, ErrorCode::kBadDestination);
  // A new endpoint on the restarted device works.
  Side& again = s.lab.AddBeside(s.b);
  again.Insert(s.a);
  s.a.Insert(again);
  s.lab.ExpectWorks(s.a, again);
}

// ---- 10: no receive, and an end of patience ----

TEST(StatusTest, RemoteNotReady) {
  for (std::uint32_t retries = 0; retries <= 6; ++retries) {
    Scene s(Calm(), {.retries = retries});
    const coro::Time start = s.lab.world().Now();
    ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, kBad)), ErrorCode::kOk);
    s.TakeFailure(kBad, 10, ErrorCode::kReceiverNotReady);
    EXPECT_GE(s.lab.world().Now() - start, retries * s.lab.world().profile().rnr_delay);
    EXPECT_EQ(s.b.nic.counters().rx_drops, retries + 1);
    s.ExpectTheOthersUnharmed();
  }
}

TEST(StatusTest, RemoteNotReadyIsNoFailureWhenAReceiveComesInTime) {
  Scene s(Calm(), {.retries = 6});
  Fill(s.a.Bytes(0, 100), 5);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, 1)), ErrorCode::kOk);
  s.lab.Watch(2 * s.lab.world().profile().rnr_delay);
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 100, 2)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  EXPECT_TRUE(s.lab.Take(s.b, 2).ok());
  EXPECT_TRUE(Holds(s.b.Bytes(0, 100), 5));
  s.ExpectTheOthersUnharmed();
}

// ---- 11: the receive is too short ----

TEST(StatusTest, RemoteBadLength) {
  Scene s;
  s.PostGood();
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 99, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, kBad)), ErrorCode::kOk);
  s.TakeFailure(kBad, 11, ErrorCode::kTruncated);
  EXPECT_TRUE(IsZero(s.b.Bytes(0, 100)));
  s.b.completions.clear();  // whether the receive is consumed is not documented
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 100, 2)), ErrorCode::kOk);
  s.PostGood();
  for (std::uint64_t i = 1; i <= 2; ++i) s.lab.Take(s.a, 0x900d0000 + i);
}

// ---- 12: the answer means nothing ----

TEST(StatusTest, RemoteBadStatus) {
  Scene s;
  s.PostGood();
  s.b.nic.set_answers_nonsense(true);
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 100, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, kBad)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, kBad + 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, 4096, kBad + 2)), ErrorCode::kOk);
  fabric::WriteRequest nowhere = s.a.WriteTo(s.b, 0, 4096, kBad + 3);
  nowhere.target.key = 0;
  ASSERT_EQ(s.a.endpoint->Write(nowhere), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < 4; ++i) s.TakeFailure(kBad + i, 12, ErrorCode::kBadResponse);
  EXPECT_TRUE(s.lab.Take(s.b, 1).ok());
  s.b.nic.set_answers_nonsense(false);
  s.lab.ExpectWorks(s.a, s.b);
  s.ExpectTheOthersUnharmed();
}

// ---- 13: the peer answered before, and is silent now ----

TEST(StatusTest, LocalUnresponsivePeerThatDied) {
  Scene s;
  s.lab.ExpectWorks(s.a, s.b);
  s.b.node.Kill();
  const coro::Time start = s.lab.world().Now();
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, kLong, kBad)), ErrorCode::kOk);
  s.ExpectOnlyFailure(13, ErrorCode::kPeerUnresponsive);
  EXPECT_GE(s.lab.world().Now() - start, s.lab.world().profile().unresponsive_timeout);
  EXPECT_EQ(s.a.nic.counters().unresponsive_remote_events, 1u);
}

TEST(StatusTest, LocalUnresponsivePeerThatDiedWithTheWorkUnderWay) {
  Scene s;
  s.lab.ExpectWorks(s.a, s.b);
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, kLong, kBad)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, kLong, kBad + 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, kBad + 2)), ErrorCode::kOk);  // no receive
  s.lab.world().timeline().RunFor(14us);
  s.b.node.Kill();
  for (std::uint64_t i = 0; i < 3; ++i) s.TakeFailure(kBad + i, 13, ErrorCode::kPeerUnresponsive);
  s.ExpectTheOthersUnharmed();
}

TEST(StatusTest, LocalUnresponsivePeerBehindASecurityGroup) {
  for (const bool way_back : {false, true}) {
    Scene s;
    s.lab.ExpectWorks(s.a, s.b);
    way_back ? s.lab.world().Block(s.b.node, s.a.node) : s.lab.world().Block(s.a.node, s.b.node);
    ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, kLong, kBad)), ErrorCode::kOk);
    ASSERT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, kLong, kBad + 1)), ErrorCode::kOk);
    ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, kBad + 2)), ErrorCode::kOk);
    for (std::uint64_t i = 0; i < 2; ++i) {
      s.TakeFailure(kBad + i, 13, ErrorCode::kPeerUnresponsive);
    }
    s.TakeFailure(kBad + 2, 13, ErrorCode::kPeerUnresponsive);
    s.ExpectTheOthersUnharmed();
  }
}

// ---- 14: the target has not inserted the initiator ----

TEST(StatusTest, RemoteUnknownPeer) {
  Scene s;
  ASSERT_TRUE(s.b.peers->Remove(s.b.PeerOf(s.a)).ok());
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, kBad)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, 4096, kBad + 1)), ErrorCode::kOk);
  s.TakeFailure(kBad, 14, ErrorCode::kUnknownPeer);
  s.TakeFailure(kBad + 1, 14, ErrorCode::kUnknownPeer);
  // A message does not need its sender to be inserted; then its source is unknown.
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 100, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, 2)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
  const Completion received = s.lab.Take(s.b, 1);
  EXPECT_TRUE(received.ok());
  EXPECT_EQ(received.source, fabric::kNoPeer);
  s.ExpectTheOthersUnharmed();
}

// ---- 15: the peer never answered ----

TEST(StatusTest, LocalUnreachablePeerBehindASecurityGroup) {
  for (const bool way_back : {false, true}) {
    Scene s;
    way_back ? s.lab.world().Block(s.b.node, s.a.node) : s.lab.world().Block(s.a.node, s.b.node);
    ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, kBad)), ErrorCode::kOk);
    s.ExpectOnlyFailure(15, ErrorCode::kUnreachable);
  }
}

// Of a machine that was here, and is off.
TEST(StatusTest, LocalUnreachablePeerThatNoMachineIs) {
  Scene s;
  sim::Node& gone = s.lab.world().AddNode("gone");
  gone.Kill();
  const sim::EfaAddress nobody{.gid = gone.nic(0).gid(), .queue_pair = 0, .qkey = 1};
  fabric::SendRequest send = s.a.SendTo(s.b, 0, 100, kBad);
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, kLong, kBad + 1);
  send.peer = write.peer = Must(s.a.peers->Insert(nobody.Encode()));
  const coro::Time start = s.lab.world().Now();
  ASSERT_EQ(s.a.endpoint->Send(send), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  s.TakeFailure(kBad, 15, ErrorCode::kUnreachable);
  s.TakeFailure(kBad + 1, 15, ErrorCode::kUnreachable);
  EXPECT_GE(s.lab.world().Now() - start, s.lab.world().profile().unreachable_timeout);
  s.ExpectTheOthersUnharmed();
}

TEST(StatusTest, LocalUnreachablePeerThatWasDeadFromTheStart) {
  Scene s;
  s.b.node.Kill();
  ASSERT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, 4096, kBad)), ErrorCode::kOk);
  s.ExpectOnlyFailure(15, ErrorCode::kUnreachable);
}

TEST(StatusTest, LocalUnreachableStaysSoAfterDatagrams) {
  // The end of a datagram says nothing about its peer.
  Scene s;
  Side& from = s.lab.AddBeside(s.a, {.type = fabric::EndpointType::kDatagram});
  from.Insert(s.b);
  s.lab.world().Block(s.a.node, s.b.node);
  ASSERT_EQ(from.endpoint->Send(from.SendTo(s.b, 0, 100, 1)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(from, 1).ok());
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 4096, kBad)), ErrorCode::kOk);
  s.ExpectOnlyFailure(15, ErrorCode::kUnreachable);
}

// ---- 18: the peer's device lacks the operation ----

TEST(StatusTest, RemoteFeatureMismatch) {
  const sim::Profile g5 = CopyOf("g5");
  Lab lab(1, CopyOf("p5"));
  Side& a = lab.Add("p5");
  Side& b = lab.Add("g5", {}, &g5);
  Side& c = lab.Add("another p5");
  lab.Introduce();
  ASSERT_EQ(a.endpoint->Write(a.WriteTo(c, 0, 4096, 1)), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 4096, kBad)), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, 4096, kBad + 1)), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Write(a.WriteTo(c, 4096, 4096, 2)), ErrorCode::kOk);
  for (std::uint64_t i = 0; i < 2; ++i) {
    const Completion failed = lab.Take(a, kBad + i);
    EXPECT_EQ(failed.provider_error, 18);
    EXPECT_EQ(failed.error, ErrorCode::kFeatureMismatch);
    EXPECT_TRUE(lab.Take(a, 1 + i).ok());
  }
  // Features that the peer has work.
  ASSERT_EQ(b.endpoint->Recv(b.RecvAt(0, 100, 3)), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Send(a.SendTo(b, 0, 100, 4)), ErrorCode::kOk);
  EXPECT_TRUE(lab.Take(a, 4).ok());
  EXPECT_TRUE(lab.Take(b, 3).ok());
  lab.ExpectNoMore();
}

// The device of a p4d can be read from; its memory that may be sent from is registered so.
TEST(StatusTest, RemoteFeatureMismatchOfWritesOnlyOnP4d) {
  const sim::Profile p4d = CopyOf("p4d");
  Lab lab(1, CopyOf("p5"));
  Side& a = lab.Add("p5");
  Side& b = lab.Add("p4d", {}, &p4d);
  lab.Introduce();
  ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 4096, kBad)), ErrorCode::kOk);
  EXPECT_EQ(lab.Take(a, kBad).provider_error, 18);
  ASSERT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, 4096, 1)), ErrorCode::kOk);
  EXPECT_TRUE(lab.Take(a, 1).ok());
  lab.ExpectNoMore();
}

// ---- the numbers themselves ----

TEST(StatusTest, EveryNumberHasItsOwnWords) {
  std::vector<std::string> texts;
  for (int number = 0; number <= 18; ++number) {
    const bool known = number <= 15 || number == 18;
    EXPECT_EQ(sim::IsKnown(static_cast<std::uint8_t>(number)), known) << number;
    if (known) texts.emplace_back(sim::StatusText(static_cast<std::uint8_t>(number)));
  }
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::adjacent_find(texts.begin(), texts.end()), texts.end());
  EXPECT_STREQ(sim::StatusText(17), "unknown status");
}

}  // namespace
}  // namespace drydock::sim_testing
