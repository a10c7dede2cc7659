// Messages of several segments, and datagrams.

#include <array>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/error_data.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/testing/lab.h"
#include "drydock/sim/testing/scene.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::Completion;
using fabric::ErrorCode;
using fabric::LocalBuffer;

// ---- Segments ----

// Pieces of the memory of a side, with gaps between them.
std::vector<LocalBuffer> Pieces(const Side& side, const std::vector<std::size_t>& lengths) {
  std::vector<LocalBuffer> pieces;
  std::size_t at = 0;
  for (const std::size_t length : lengths) {
    pieces.push_back(side.Local(at, length));
    at += length + 100;
  }
  return pieces;
}

std::vector<std::byte> Gather(const std::vector<LocalBuffer>& pieces) {
  std::vector<std::byte> bytes;
  for (const LocalBuffer& piece : pieces) {
    bytes.insert(bytes.end(), piece.data, piece.data + piece.length_bytes);
  }
  return bytes;
}

std::size_t Sum(const std::vector<std::size_t>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
}

TEST(SegmentTest, GatherAtTheSenderAndScatterAtTheReceiver) {
  const std::vector<std::vector<std::size_t>> sends = {{1, 1},  {0, 50},      {50, 0},     {31, 1},
                                                       {32, 1}, {1000, 3000}, {4464, 4464}};
  const std::vector<std::vector<std::size_t>> receives = {
      {1, 1, 9000}, {0, 0, 9000}, {9000, 0, 0}, {0, 100, 8900}, {40, 0, 8900}, {3000, 3000, 3000}};
  for (const auto& send_lengths : sends) {
    for (const auto& receive_lengths : receives) {
      SCOPED_TRACE(absl::StrCat("send ", send_lengths[0], "+", send_lengths[1], ", receive ",
                                receive_lengths[0], "+", receive_lengths[1], "+",
                                receive_lengths[2]));
      Scene s;
      Fill(s.a.Bytes(0, 20000), 1);
      const auto from = Pieces(s.a, send_lengths);
      const auto to = Pieces(s.b, receive_lengths);
      fabric::RecvRequest receive{.buffer = to[0], .context = fabric::Context{1}};
      receive.more = std::span(to).subspan(1);
      fabric::SendRequest send = s.a.SendTo(s.b, 0, 0, 2);
      send.buffer = from[0];
      send.more = std::span(from).subspan(1);
      ASSERT_EQ(s.b.endpoint->Recv(receive), ErrorCode::kOk);
      ASSERT_EQ(s.a.endpoint->Send(send), ErrorCode::kOk);
      EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
      EXPECT_EQ(s.lab.Take(s.b, 1).length_bytes, Sum(send_lengths));
      std::vector<std::byte> expected = Gather(from);
      expected.resize(Sum(receive_lengths));  // the rest was not touched
      EXPECT_EQ(Gather(to), expected);
      // Nor were the bytes between the segments.
      std::size_t at = 0;
      for (const std::size_t length : receive_lengths) {
        at += length;
        EXPECT_TRUE(IsZero(s.b.Bytes(at, 100))) << "at " << at;
        at += 100;
      }
    }
  }
}

TEST(SegmentTest, MessageMayFillAllSegmentsToTheLastByte) {
  Scene s;
  Fill(s.a.Bytes(0, 300), 1);
  const auto to = Pieces(s.b, {100, 100, 100});
  fabric::RecvRequest receive{.buffer = to[0], .context = fabric::Context{1}};
  receive.more = std::span(to).subspan(1);
  ASSERT_EQ(s.b.endpoint->Recv(receive), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 301, 3)), ErrorCode::kOk);
  EXPECT_EQ(s.lab.Take(s.a, 3).provider_error, 11);
  s.lab.Watch();
  ASSERT_TRUE(s.b.completions.empty());  // the receive stays posted
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 300, 4)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 4).ok());
  EXPECT_EQ(s.lab.Take(s.b, 1).length_bytes, 300u);
  EXPECT_TRUE(Holds(Gather(to), 1));
}

TEST(FailureDataTest, IsTheTextOfItsStatusWithAZero) {
  Scene s;
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 100, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 101, 2)), ErrorCode::kOk);
  const fabric::Completion failure = s.lab.Take(s.a, 2);
  ASSERT_FALSE(failure.ok());
  fabric::ErrorData data;
  s.a.queue->power<fabric::ErrorDetails>()->ReadErrorData(failure, data);
  const std::string text = s.a.queue->ErrorText(failure);
  EXPECT_THAT(text, testing::HasSubstr("EFA status 11"));
  ASSERT_EQ(data.size_bytes, text.size() + 1);
  EXPECT_EQ(reinterpret_cast<const char*>(data.data), text);
}

TEST(SegmentTest, TooManyAreRefused) {
  Scene s;
  const auto pieces = Pieces(s.a, {100, 100, 100, 100});
  fabric::SendRequest send = s.a.SendTo(s.b, 0, 100, 1);
  send.more = std::span(pieces).first(2);
  EXPECT_EQ(s.a.endpoint->Send(send), ErrorCode::kInvalidArgument);
  fabric::RecvRequest receive = s.a.RecvAt(0, 100, 1);
  receive.more = std::span(pieces).first(3);
  EXPECT_EQ(s.a.endpoint->Recv(receive), ErrorCode::kInvalidArgument);
  s.lab.ExpectNoMore();
}

TEST(SegmentTest, EachMustLieInItsOwnRegion) {
  Scene s;
  const auto region = s.a.Register(0, 99, fabric::Access::kAll);
  LocalBuffer second = region->Local();
  second.length_bytes = 100;
  fabric::SendRequest send = s.a.SendTo(s.b, 8192, 100, kBad);
  send.more = {&second, 1};
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 4096, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(send), ErrorCode::kOk);
  s.TakeFailure(kBad, 5, ErrorCode::kLocalAccess);
}

TEST(SegmentTest, SlotsOfTheReceiveRingAreCountedInSegments) {
  Scene s;
  const auto pieces = Pieces(s.b, {100, 100, 100});
  fabric::RecvRequest receive{.buffer = pieces[0], .context = fabric::Context{1}};
  receive.more = std::span(pieces).subspan(1);
  const std::size_t depth = s.b.endpoint->limits().receive_queue_depth;
  for (std::size_t lap = 0; lap < 3; ++lap) {
    for (std::size_t i = 0; i < depth; ++i) {
      ASSERT_EQ(s.b.endpoint->Recv(receive), ErrorCode::kOk) << i;
    }
    EXPECT_EQ(s.b.endpoint->Recv(receive), ErrorCode::kAgain);
    for (std::size_t i = 0; i < depth; ++i) {
      ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 300, 2)), ErrorCode::kOk);
      EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
      EXPECT_TRUE(s.lab.Take(s.b, 1).ok());
    }
  }
}

// A descriptor has 16 bits for the length; libfabric clamps, so does the driver here.
TEST(SegmentTest, LengthOfAReceiveIsClampedTo65535) {
  Scene s;
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 100000, 1)), ErrorCode::kOk);
  sim::ReceiveWork work;
  ASSERT_TRUE(s.b.rings().queue_pair().receive.Peek(work));
  EXPECT_EQ(work.length, 65535u);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 8928, 2)), ErrorCode::kOk);
  EXPECT_EQ(s.lab.Take(s.b, 1).length_bytes, 8928u);
}

TEST(MessageTest, EmptyOnesArriveAndNeedNoMemory) {
  Scene s;
  fabric::SendRequest send{.peer = s.a.PeerOf(s.b), .context = fabric::Context{1}};
  send.immediate = 9;
  ASSERT_EQ(s.b.endpoint->Recv(s.b.RecvAt(0, 100, 2)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(send), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  const Completion received = s.lab.Take(s.b, 2);
  EXPECT_EQ(received.length_bytes, 0u);
  EXPECT_EQ(received.immediate, 9u);
}

TEST(WriteTest, EmptyOnesDeliverTheirImmediate) {
  Scene s;
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 0, 1);
  write.immediate = 9;
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  EXPECT_EQ(s.lab.TakeNameless(s.b).immediate, 9u);
}

TEST(WriteTest, LengthsAroundThePacketSize) {
  Scene s;
  const std::size_t mtu = s.lab.world().profile().device.mtu;
  for (const std::size_t length :
       {std::size_t{1}, std::size_t{2}, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1}) {
    Fill(s.a.Bytes(0, length), length);
    std::fill(s.b.memory().begin(), s.b.memory().end(), std::byte{0});
    ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, length, 1)), ErrorCode::kOk);
    EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
    EXPECT_TRUE(Holds(s.b.Bytes(0, length), length)) << length;
    EXPECT_TRUE(IsZero(s.b.memory().subspan(length))) << length;
    std::fill(s.a.memory().begin(), s.a.memory().end(), std::byte{0});
    ASSERT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, length, 2)), ErrorCode::kOk);
    EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
    EXPECT_TRUE(Holds(s.a.Bytes(0, length), length)) << length;
    EXPECT_TRUE(IsZero(s.a.memory().subspan(length))) << length;
  }
}

// ---- Datagrams ----

constexpr std::size_t kPrefix = 40;

class DatagramTest : public ::testing::Test {
 protected:
  DatagramTest() : DatagramTest(1, Calm()) {}  // a network that loses datagrams is another test
  DatagramTest(std::uint64_t seed, sim::Profile profile)
      : lab_(seed, std::move(profile)),
        a_(lab_.Add("a", {.type = fabric::EndpointType::kDatagram})),
        b_(lab_.Add("b", {.type = fabric::EndpointType::kDatagram})) {
    lab_.Introduce();
  }
  Lab lab_;
  Side& a_;
  Side& b_;
};

TEST_F(DatagramTest, PrefixIsSkippedByTheSenderAndLeftByTheReceiver) {
  Fill(a_.Bytes(0, 1000), 1);
  ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(0, 2000, 1)), ErrorCode::kOk);
  fabric::SendRequest send = a_.SendTo(b_, 0, 1000, 2);
  send.immediate = 3;
  ASSERT_EQ(a_.endpoint->Send(send), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(a_, 2).ok());
  const Completion received = lab_.Take(b_, 1);
  EXPECT_EQ(received.length_bytes, 1000u);  // with the prefix
  EXPECT_EQ(received.immediate, 3u);
  EXPECT_EQ(received.source, b_.PeerOf(a_));
  EXPECT_TRUE(IsZero(b_.Bytes(0, kPrefix)));
  EXPECT_TRUE(std::ranges::equal(a_.Bytes(kPrefix, 960), b_.Bytes(kPrefix, 960)));
  EXPECT_TRUE(IsZero(b_.Bytes(1000, 1000)));
}

TEST_F(DatagramTest, BuffersShorterThanThePrefixAreRefused) {
  EXPECT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, kPrefix - 1, 1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(b_.endpoint->Recv(b_.RecvAt(0, kPrefix - 1, 1)), ErrorCode::kInvalidArgument);
  ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(0, kPrefix, 1)), ErrorCode::kOk);
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, kPrefix, 2)), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(a_, 2).ok());
  EXPECT_EQ(lab_.Take(b_, 1).length_bytes, kPrefix);
}

TEST_F(DatagramTest, OnePacketAtMost) {
  const fabric::Limits& limits = a_.endpoint->limits();
  EXPECT_EQ(limits.datagram_prefix_bytes, kPrefix);
  ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(0, 20000, 1)), ErrorCode::kOk);
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, limits.datagram_bytes + 1, 2)), ErrorCode::kOk);
  EXPECT_EQ(lab_.Take(a_, 2).provider_error, 6);
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, limits.datagram_bytes, 3)), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(a_, 3).ok());
  EXPECT_EQ(lab_.Take(b_, 1).length_bytes, limits.datagram_bytes);
}

TEST_F(DatagramTest, DroppedWithoutAReceive) {
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, 100, 1)), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(a_, 1).ok());  // delivery is not promised
  EXPECT_EQ(b_.nic.counters().rx_drops, 1u);
  ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(0, 100, 2)), ErrorCode::kOk);
  lab_.ExpectNoMore(1s);
}

TEST_F(DatagramTest, DroppedWhereTheReceiveIsTooShort) {
  ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(0, 99, 2)), ErrorCode::kOk);
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, 100, 1)), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(a_, 1).ok());
  EXPECT_EQ(b_.nic.counters().rx_drops, 1u);
  lab_.ExpectNoMore();
  EXPECT_TRUE(IsZero(b_.Bytes(0, 100)));
}

TEST_F(DatagramTest, DroppedWithAWrongQkeyOrQueuePair) {
  sim::EfaAddress address = Must(sim::EfaAddress::Decode(b_.endpoint->address()));
  ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(0, 100, 2)), ErrorCode::kOk);
  address.qkey ^= 1;
  fabric::SendRequest send = a_.SendTo(b_, 0, 100, 1);
  send.peer = Must(a_.peers->Insert(address.Encode()));
  ASSERT_EQ(a_.endpoint->Send(send), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(a_, 1).ok());
  address.queue_pair = 30;
  send.peer = Must(a_.peers->Insert(address.Encode()));
  ASSERT_EQ(a_.endpoint->Send(send), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(a_, 1).ok());
  EXPECT_EQ(b_.nic.counters().rx_drops, 2u);
  EXPECT_EQ(b_.nic.counters().qkey_viol, 1u);
  lab_.ExpectNoMore();
}

TEST_F(DatagramTest, ReliableEndpointsDoNotTakeThem) {
  Side& reliable = lab_.Add("c");
  a_.Insert(reliable);
  ASSERT_EQ(reliable.endpoint->Recv(reliable.RecvAt(0, 1000, 2)), ErrorCode::kOk);
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(reliable, 0, 100, 1)), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(a_, 1).ok());
  lab_.ExpectNoMore();
}

TEST_F(DatagramTest, UnknownSendersHaveNoSource) {
  ASSERT_TRUE(b_.peers->Remove(b_.PeerOf(a_)).ok());
  ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(0, 100, 2)), ErrorCode::kOk);
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, 100, 1)), ErrorCode::kOk);
  EXPECT_EQ(lab_.Take(b_, 2).source, fabric::kNoPeer);
}

TEST_F(DatagramTest, SilenceIsNoFailure) {
  lab_.world().Block(a_.node, b_.node);
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, 100, 1)), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(a_, 1).ok());
  b_.node.Kill();
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, 100, 2)), ErrorCode::kOk);
  EXPECT_TRUE(lab_.Take(a_, 2).ok());
  lab_.ExpectNoMore();
}

TEST_F(DatagramTest, EndOfItsTargetOnItsWayIsNoFailure) {
  ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(0, 100, 9)), ErrorCode::kOk);
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(b_, 0, 100, 1)), ErrorCode::kOk);
  lab_.Watch(1us);
  b_.node.Reset();  // its receives are flushed
  EXPECT_TRUE(lab_.Take(a_, 1).ok());
  EXPECT_EQ(lab_.Take(b_, 9).provider_error, 1);
  Side& c = lab_.Add("c", {.type = fabric::EndpointType::kDatagram});
  a_.Insert(c);
  ASSERT_EQ(a_.endpoint->Send(a_.SendTo(c, 0, 100, 2)), ErrorCode::kOk);
  lab_.Watch(1us);
  c.node.Kill();
  EXPECT_TRUE(lab_.Take(a_, 2).ok());
  EXPECT_EQ(a_.nic.counters().unresponsive_remote_events, 0u);
  lab_.ExpectNoMore();
}

TEST_F(DatagramTest, ClosedRegionIsNotReadAnyMore) {
  auto region = a_.Register(0, 4096, fabric::Access::kAll);
  ASSERT_EQ(b_.endpoint->Recv(b_.RecvAt(0, 4096, 2)), ErrorCode::kOk);
  fabric::SendRequest send = a_.SendTo(b_, 0, 4096, 1);
  send.buffer = region->Local();
  Fill(a_.Bytes(0, 4096), 1);
  ASSERT_EQ(a_.endpoint->Send(send), ErrorCode::kOk);
  ASSERT_TRUE(region->Close().ok());
  EXPECT_EQ(lab_.Take(a_, 1).provider_error, 5);
  EXPECT_TRUE(IsZero(b_.Bytes(0, 4096)));
  lab_.ExpectFinding(sim::Check::kUseAfterDeregister, 1);
}

TEST_F(DatagramTest, SegmentsFollowThePrefix) {
  Fill(a_.Bytes(0, 4096), 1);
  const LocalBuffer second = a_.Local(2000, 60);
  fabric::SendRequest send = a_.SendTo(b_, 0, kPrefix + 50, 1);
  send.more = {&second, 1};
  const LocalBuffer rest = b_.Local(1000, 500);
  fabric::RecvRequest receive = b_.RecvAt(0, kPrefix + 10, 2);
  receive.more = {&rest, 1};
  ASSERT_EQ(b_.endpoint->Recv(receive), ErrorCode::kOk);
  ASSERT_EQ(a_.endpoint->Send(send), ErrorCode::kOk);
  EXPECT_EQ(lab_.Take(b_, 2).length_bytes, kPrefix + 110);
  EXPECT_TRUE(std::ranges::equal(a_.Bytes(kPrefix, 10), b_.Bytes(kPrefix, 10)));
  EXPECT_TRUE(std::ranges::equal(a_.Bytes(kPrefix + 10, 40), b_.Bytes(1000, 40)));
  EXPECT_TRUE(std::ranges::equal(a_.Bytes(2000, 60), b_.Bytes(1040, 60)));
  EXPECT_TRUE(IsZero(b_.Bytes(kPrefix + 10, 900)));
}

TEST(DatagramLossTest, WhatTheWireLosesIsNotSentAgain) {
  sim::Profile profile = Small();
  profile.retransmit_one_in = 4;
  Lab lab(1, profile);
  Side& a = lab.Add("a", {.type = fabric::EndpointType::kDatagram});
  Side& b = lab.Add("b", {.type = fabric::EndpointType::kDatagram});
  lab.Introduce();
  std::uint64_t arrived = 0;
  constexpr std::uint64_t kSent = 400;
  for (std::uint64_t i = 1; i <= kSent; ++i) {
    ASSERT_EQ(b.endpoint->Recv(b.RecvAt(0, 100, i)), ErrorCode::kOk);
    ASSERT_EQ(a.endpoint->Send(a.SendTo(b, 0, 100, i)), ErrorCode::kOk);
    EXPECT_TRUE(lab.Take(a, i).ok());
    lab.Watch(1ms);
    arrived += b.completions.size();
    b.completions.clear();
    if (arrived < i && i % 32 == 0) {  // unused receives of those that were lost
      ASSERT_TRUE(b.endpoint->Close().ok());
      fabric::EndpointOptions options = b.Parts();
      options.type = fabric::EndpointType::kDatagram;
      b.endpoint = Must(b.domain->OpenEndpoint(options));
      a.Insert(b);
    }
  }
  EXPECT_EQ(a.nic.counters().retrans_pkts, 0u);
  EXPECT_GT(arrived, kSent * 65 / 100);
  EXPECT_LT(arrived, kSent * 85 / 100);
}

}  // namespace
}  // namespace drydock::sim_testing
