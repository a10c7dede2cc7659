// Little room for messages that came before their receives, for many seeds: a message that is held
// up arrives in the end, once, whole and in order.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;

constexpr std::size_t kReceiver = 1;
constexpr std::size_t kSenders[] = {0, 2};
constexpr std::uint64_t kMessages = 30;  // of each sender
constexpr std::size_t kSlot = 120000;    // memory of one message

class Pressure {
 public:
  explicit Pressure(std::uint64_t seed) : dice_(seed), bed_(OptionsOf(seed)) {}

  void Run() {
    for (const std::size_t from : kSenders) {
      for (std::uint64_t i = 0; i < kMessages; ++i) {
        lengths_[from].push_back(Length());
        Fill(bed_[from].Bytes(i * kSlot, lengths_[from][i]), Pattern(from, i));
      }
    }
    ASSERT_TRUE(bed_.PumpUntil([&] {
      const std::size_t from = kSenders[dice_.Below(2)];
      if (sent_[from] < kMessages && Send(from) == ErrorCode::kOk) ++sent_[from];
      // Receives lag behind, so that there are messages without.
      if (posted_[from] < kMessages && dice_.OneIn(12) && Receive(from) == ErrorCode::kOk) {
        ++posted_[from];
      }
      return Ended();
    })) << "sent "
        << sent_[0] << " and " << sent_[2] << ", received " << bed_[kReceiver].completions.size();
    Check();
  }

  std::uint64_t stalled() { return bed_[kReceiver].statistics().stalled; }

 private:
  static TestBedOptions OptionsOf(std::uint64_t seed) {
    Dice dice(seed ^ 0x7777);
    TestBedOptions options{.seed = seed, .machines = 3, .memory_bytes = 2 * kMessages * kSlot};
    options.settings.unexpected_messages = 1 + dice.Below(6);
    options.settings.unexpected_bytes = dice.Below(100000);
    options.settings.receive_packets = 4 + dice.Below(30);
    options.settings.medium_bytes = 20000;
    options.settings.read_message_bytes = 100000;
    if (dice.OneIn(3)) options.alteration.without.push_back(fabric::Capability::kRemoteRead);
    if (dice.OneIn(3)) {
      const auto chance = std::make_shared<Dice>(dice.Next());
      options.alteration.refuses_send = [chance](const fabric::SendRequest&) {
        return chance->OneIn(8);
      };
    }
    return options;
  }
  std::size_t Length() {
    switch (dice_.Below(4)) {
      case 0:
        return dice_.Below(100);
      case 1:
        return 8740 + dice_.Below(40);  // about one packet
      case 2:
        return dice_.Below(20000);
      default:
        return 90000 + dice_.Below(20000);
    }
  }
  static std::uint32_t Pattern(std::size_t from, std::uint64_t i) {
    return static_cast<std::uint32_t>(100 * from + i);
  }
  static std::size_t Place(std::size_t from, std::uint64_t i) {
    return (from / 2 * kMessages + i) * kSlot;
  }

  // One sender's messages are tagged, the other's are received by their sender.
  ErrorCode Send(std::size_t from) {
    const std::uint64_t i = sent_[from];
    const fabric::LocalBuffer buffer = bed_[from].Local(i * kSlot, lengths_[from][i]);
    const fabric::Peer peer = bed_[from].peers[kReceiver];
    if (from == 0) {
      return bed_[from].tagged().SendTagged(fabric::TaggedSendRequest{
          .buffer = buffer, .peer = peer, .tag = 7, .context = Context{i}});
    }
    return bed_[from].endpoint->Send(
        fabric::SendRequest{.buffer = buffer, .peer = peer, .context = Context{i}});
  }
  ErrorCode Receive(std::size_t from) {
    const std::uint64_t i = posted_[from];
    const fabric::LocalBuffer buffer = bed_[kReceiver].Local(Place(from, i), kSlot);
    const Context context{1000 * from + i};
    if (from == 0) {
      return bed_[kReceiver].tagged().RecvTagged(
          fabric::TaggedRecvRequest{.buffer = buffer, .tag = 7, .context = context});
    }
    return bed_[kReceiver].endpoint->Recv(fabric::RecvRequest{
        .buffer = buffer, .context = context, .source = bed_[kReceiver].peers[from]});
  }

  bool Ended() {
    return bed_[kReceiver].completions.size() == 2 * kMessages &&
           bed_[0].completions.size() == kMessages && bed_[2].completions.size() == kMessages;
  }

  void Check() {
    for (const Completion& done : bed_[kReceiver].completions) {
      const auto context = static_cast<std::uint64_t>(*done.context);
      const std::size_t from = context / 1000;
      const std::uint64_t i = context % 1000;
      EXPECT_EQ(done.error, ErrorCode::kOk);
      EXPECT_EQ(done.length_bytes, lengths_[from][i]);
      EXPECT_TRUE(
          Holds(bed_[kReceiver].Bytes(Place(from, i), done.length_bytes), Pattern(from, i)));
    }
    for (const std::size_t from : kSenders) {
      for (const Completion& done : bed_[from].completions) EXPECT_TRUE(done.ok());
    }
    const Statistics& seen = bed_[kReceiver].statistics();
    EXPECT_EQ(seen.malformed + seen.duplicates + seen.strays + seen.too_early, 0u);
    EXPECT_EQ(seen.unexpected + seen.unexpected_bytes, 0u);
  }

  Dice dice_;
  TestBed bed_;
  std::map<std::size_t, std::vector<std::size_t>> lengths_;  // by sender
  std::map<std::size_t, std::uint64_t> sent_, posted_;
};

TEST(PressureTest, EverythingArrivesForManySeeds) {
  std::uint64_t under_pressure = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Pressure pressure(seed);
    pressure.Run();
    if (HasFailure()) return;
    under_pressure += pressure.stalled() > 0 ? 1 : 0;
  }
  EXPECT_GT(under_pressure, 50u);
}

// A packet that was refused as not ready is sent again behind all others of its sender, some 30 MB
// of whole packets here: they are held until its turn, and none of them is lost.
TEST(PressureTest, WholeSendQueueMayOvertakeARefusedPacket) {
  constexpr std::uint64_t kPackets = 6000;
  constexpr std::size_t kPacket = 8700;
  TestBedOptions options{.profile = "p5"};
  options.settings.unexpected_messages = 1;
  options.settings.receive_packets = 1024;
  TestBed bed(options);
  bed.Connect();
  std::uint64_t sent = 0, posted = 0;
  const auto send = [&] {
    const fabric::SendRequest request{
        .buffer = bed.a().Local(0, kPacket), .peer = bed.a().peers[1], .context = Context{0}};
    while (sent < kPackets && bed.a().endpoint->Send(request) == ErrorCode::kOk) ++sent;
  };
  const auto receive = [&] {
    const fabric::RecvRequest request{.buffer = bed.b().Local(0, kPacket), .context = Context{0}};
    while (posted < kPackets && bed.b().endpoint->Recv(request) == ErrorCode::kOk) ++posted;
  };
  ASSERT_TRUE(bed.PumpUntil([&] {
    send();
    return bed.a().statistics().backoffs > 1;
  }));
  EXPECT_TRUE(bed.PumpUntil([&] {
    send();
    receive();
    return bed.b().completions.size() == kPackets && bed.a().completions.size() == kPackets;
  })) << "received "
      << bed.b().completions.size();
  EXPECT_EQ(bed.b().statistics().too_early, 0u);
  for (const Completion& done : bed.b().completions) EXPECT_TRUE(done.ok());
}

}  // namespace
}  // namespace drydock::sim::rdm
