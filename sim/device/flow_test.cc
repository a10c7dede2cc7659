// Packets of a long read or write that travel as one piece (Profile::flow_packets): what each of
// them meets is the same, and one event stands for all.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/sim/device/device_counters.h"
#include "drydock/sim/device/observer.h"
#include "drydock/sim/faults/device_faults.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/testing/lab.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using fabric::ErrorCode;

constexpr std::size_t kBytes = 200000;              // 23 packets
constexpr std::size_t kOneMore = 16 * 8928 + 5000;  // a flow, and a packet that travels alone
constexpr std::uint32_t kFlow = 16;

// When entries were written to completion queues.
class Times final : public sim::Observer {
 public:
  explicit Times(sim::World& world) : world_(world) {}
  void OnReported(const sim::NicState&, const sim::CompletionRing&, const sim::DeviceCompletion&,
                  sim::EntryFate) override {
    times.push_back(world_.timeline().elapsed());
  }
  std::vector<coro::Duration> times;

 private:
  sim::World& world_;
};

// Losses, copies and paths of their own; packets land in one step or two.
sim::Profile Network(std::uint32_t flow_packets) {
  sim::Profile profile = Small();
  profile.duplicate_one_in = 16;
  profile.duplicate_delay = std::chrono::microseconds(50);
  profile.retransmit_one_in = 64;
  profile.flow_packets = flow_packets;
  return profile;
}

struct Outcome {
  std::vector<coro::Duration> times;
  std::uint64_t events = 0;
  bool right = false;
  ErrorCode error = ErrorCode::kOk;
  sim::DeviceCounters sender;
  sim::DeviceCounters receiver;
};

enum class What { kWrite, kRead, kWriteIntoNothing };

Outcome Played(What what, std::uint32_t flow_packets, std::uint64_t seed,
               std::shared_ptr<fabric::faults::FaultEngine> faults = nullptr,
               std::size_t length = kBytes) {
  Lab lab(seed, Network(flow_packets), sim::ClockKind::kVirtual, std::move(faults));
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  Times times(lab.world());
  lab.world().observers().Add(times);
  Fill(what == What::kRead ? b.Bytes(0, length) : a.Bytes(0, length), seed);
  if (what == What::kWriteIntoNothing) lab.world().Block(a.node, b.node);
  const ErrorCode posted = what == What::kRead ? a.endpoint->Read(a.ReadFrom(b, 0, length, 7))
                                               : a.endpoint->Write(a.WriteTo(b, 0, length, 7));
  EXPECT_EQ(posted, ErrorCode::kOk);
  Outcome outcome;
  outcome.error = lab.Take(a, 7).error;
  outcome.times = times.times;
  outcome.events = lab.world().timeline().event_count();
  outcome.right = Holds(what == What::kRead ? a.Bytes(0, length) : b.Bytes(0, length), seed);
  outcome.sender = a.nic.state().counters;
  outcome.receiver = b.nic.state().counters;
  lab.world().observers().Remove(times);
  return outcome;
}

class FlowTest : public ::testing::TestWithParam<What> {};

TEST_P(FlowTest, APieceIsInWhenTheLastOfItsPacketsIs) {
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome packets = Played(GetParam(), 1, seed);
    const Outcome flow = Played(GetParam(), kFlow, seed);
    EXPECT_EQ(packets.error, ErrorCode::kOk);
    EXPECT_EQ(packets.times, flow.times) << seed;
    EXPECT_TRUE(flow.right) << seed;
    EXPECT_EQ(packets.sender.tx_pkts, flow.sender.tx_pkts) << seed;
    EXPECT_EQ(packets.sender.tx_bytes, flow.sender.tx_bytes) << seed;
    EXPECT_EQ(packets.sender.retrans_bytes, flow.sender.retrans_bytes) << seed;
    EXPECT_EQ(packets.receiver.tx_bytes, flow.receiver.tx_bytes) << seed;
    EXPECT_EQ(packets.receiver.retrans_pkts, flow.receiver.retrans_pkts) << seed;
    EXPECT_EQ(packets.receiver.rx_pkts, flow.receiver.rx_pkts) << seed;
    EXPECT_EQ(packets.receiver.rx_bytes, flow.receiver.rx_bytes) << seed;
    EXPECT_EQ(packets.sender.placed_twice, flow.sender.placed_twice) << seed;
    EXPECT_EQ(packets.receiver.placed_twice, flow.receiver.placed_twice) << seed;
    EXPECT_LT(flow.events * 4, packets.events) << seed;  // 23 packets are two pieces
    lost += flow.sender.retrans_pkts + flow.receiver.retrans_pkts;
  }
  EXPECT_GT(lost, 0u);
}

// It is the seventeenth, though the second piece.
TEST_P(FlowTest, APacketThatIsAPieceOfItsOwnMeetsWhatItWouldAsAPacket) {
  std::uint64_t twice = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Outcome packets = Played(GetParam(), 1, seed, nullptr, kOneMore);
    const Outcome flow = Played(GetParam(), kFlow, seed, nullptr, kOneMore);
    EXPECT_EQ(packets.times, flow.times) << seed;
    EXPECT_TRUE(flow.right) << seed;
    EXPECT_EQ(packets.sender.retrans_bytes, flow.sender.retrans_bytes) << seed;
    EXPECT_EQ(packets.receiver.retrans_bytes, flow.receiver.retrans_bytes) << seed;
    EXPECT_EQ(packets.sender.placed_twice, flow.sender.placed_twice) << seed;
    EXPECT_EQ(packets.receiver.placed_twice, flow.receiver.placed_twice) << seed;
    twice += flow.sender.placed_twice + flow.receiver.placed_twice;
  }
  EXPECT_GT(twice, 0u);
}

INSTANTIATE_TEST_SUITE_P(WritesAndReads, FlowTest, ::testing::Values(What::kWrite, What::kRead),
                         [](const auto& test) {
                           return std::string(test.param == What::kRead ? "Read" : "Write");
                         });

TEST(FlowEndTest, APieceThatNobodyTakesEndsAsItsPacketsDo) {
  const Outcome packets = Played(What::kWriteIntoNothing, 1, 3);
  const Outcome flow = Played(What::kWriteIntoNothing, kFlow, 3);
  EXPECT_EQ(packets.error, ErrorCode::kUnreachable);
  EXPECT_EQ(flow.error, ErrorCode::kUnreachable);
  EXPECT_EQ(packets.times, flow.times);
  EXPECT_GT(packets.sender.tx_pkts, 0u);
  EXPECT_EQ(packets.sender.tx_pkts, flow.sender.tx_pkts);
  EXPECT_EQ(packets.sender.tx_bytes, flow.sender.tx_bytes);
  EXPECT_EQ(flow.receiver.rx_pkts, 0u);
}

// It looks for a receive again by its last packet, not by its last piece.
TEST(FlowEndTest, ARetryIsOnePacketOfAPiece) {
  const auto sent = [](std::uint32_t flow_packets) {
    Lab lab(3, Network(flow_packets));
    const SideOptions options{.retries = 2, .receives_take_immediates = true};
    Side& a = lab.Add("a", options);
    Side& b = lab.Add("b", options);
    lab.Introduce();
    fabric::WriteRequest write = a.WriteTo(b, 0, kBytes, 7);
    write.immediate = 1;
    EXPECT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
    EXPECT_FALSE(lab.Take(a, 7).ok());
    const sim::DeviceCounters& counters = a.nic.state().counters;
    return std::pair(counters.tx_pkts, counters.tx_bytes);
  };
  EXPECT_GT(sent(1).first, 23u);
  EXPECT_EQ(sent(kFlow), sent(1));
}

// Which operation has sent, packet by packet or piece by piece.
class Turns final : public sim::Observer {
 public:
  void OnSent(const sim::NicState&, const sim::Operation& operation, std::uint32_t, bool response,
              std::uint64_t, const sim::Flight&) override {
    if (!response) sent.push_back(operation.request_id);
  }
  std::vector<std::uint16_t> sent;
};

// As packets of long messages do on average: neither message is far ahead. The message that begins
// a round is drawn.
TEST(FlowEndTest, PiecesOfTwoMessagesLeaveInTurns) {
  constexpr std::size_t kHalf = kBytes / 2;
  std::size_t in_a_row = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Lab lab(seed, Network(2));
    Side& a = lab.Add("a");
    Side& b = lab.Add("b");
    lab.Introduce();
    Turns turns;
    lab.world().observers().Add(turns);
    EXPECT_EQ(a.endpoint->Write(a.WriteTo(b, 0, kHalf, 7)), ErrorCode::kOk);
    EXPECT_EQ(a.endpoint->Write(a.WriteTo(b, kHalf, kHalf, 8)), ErrorCode::kOk);
    EXPECT_TRUE(lab.Take(a, 7).ok());
    EXPECT_TRUE(lab.Take(a, 8).ok());
    lab.world().observers().Remove(turns);
    ASSERT_EQ(turns.sent.size(), 12u);  // six pieces each
    int ahead = 0;
    for (std::size_t piece = 0; piece < 12; ++piece) {
      const bool first = turns.sent[piece] == turns.sent[0];
      ahead += first ? 1 : -1;
      EXPECT_LE(std::abs(ahead), 2) << seed;
      in_a_row += piece > 0 && first == (turns.sent[piece - 1] == turns.sent[0]) ? 1 : 0;
    }
  }
  EXPECT_GT(in_a_row, 10u);  // twice in a row: last of a round, and first of the next one
}

// 196 packets in pieces of two are more than forty: a fortieth of them are four, half as many again
// as two are three.
TEST(FlowEndTest, ALongMessageHasLargerPiecesAndTakesAsLong) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto sent = [&](std::uint32_t flow_packets) {
      sim::Profile network = Network(flow_packets);
      network.device.mtu = 1024;
      Lab lab(seed, network);
      Side& a = lab.Add("a");
      Side& b = lab.Add("b");
      lab.Introduce();
      Turns turns;
      Times times(lab.world());
      lab.world().observers().Add(turns);
      lab.world().observers().Add(times);
      EXPECT_EQ(a.endpoint->Write(a.WriteTo(b, 0, kBytes, 7)), ErrorCode::kOk);
      EXPECT_TRUE(lab.Take(a, 7).ok());
      lab.world().observers().Remove(turns);
      lab.world().observers().Remove(times);
      return std::pair(turns.sent.size(), times.times);
    };
    const auto packets = sent(1);
    const auto pieces = sent(2);
    EXPECT_EQ(packets.first, 196u);
    EXPECT_EQ(pieces.first, 66u);
    EXPECT_EQ(packets.second, pieces.second) << seed;
  }
}

// A plan may name each of them.
TEST(FlowEndTest, UnderAFaultPlanEachPacketIsAnEventOfItsOwn) {
  const auto plan = [] {
    return Must(fabric::faults::FaultEngine::Create({}, 1, {.device = sim::DeviceFaults()}));
  };
  const Outcome packets = Played(What::kWrite, 1, 5, plan());
  const Outcome flow = Played(What::kWrite, kFlow, 5, plan());
  EXPECT_EQ(packets.events, flow.events);
  EXPECT_EQ(packets.times, flow.times);
}

}  // namespace
}  // namespace drydock::sim_testing
