// A process that writes nonsense where hosts read: they do not crash, they do not believe it, and
// others are not hurt.

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drydock/sim/device/operation.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/hosts/bell.h"
#include "drydock/sim/hosts/directory.h"
#include "drydock/sim/hosts/gid.h"
#include "drydock/sim/hosts/message.h"
#include "drydock/sim/hosts/ring.h"
#include "drydock/sim/hosts/shared_file.h"
#include "drydock/sim/hosts/testing/station.h"
#include "drydock/sim/hosts/testing/victim.h"
#include "drydock/sim/random.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

namespace efa = fabric::efa_queue;
using sim::EfaStatus;
using sim::Message;
using sim::MessageType;
using sim::PayloadPlace;

constexpr std::size_t kRingBytes = 1 << 20;

// A machine of the network without a host.
class Rogue {
 public:
  Rogue(const std::string& fabric, const sim::NetworkTerms& terms)
      : fabric_(sim::FabricNumber(fabric, 1)) {
    auto directory = sim::Directory::Join(sim::FabricFileName(fabric_), terms);
    EXPECT_TRUE(directory.ok()) << directory.status();
    if (!directory.ok()) std::abort();
    directory_ = *std::move(directory);
    sim::MachineSlot& slot = directory_->mine();
    slot.pid.store(getpid());
    slot.word.store(word_);
    slot.word_address.store(reinterpret_cast<std::uint64_t>(&word_));
    directory_->Announce();
    auto file = sim::SharedFile::Make(RingTo(0), sim::RingBytes(kRingBytes));
    EXPECT_TRUE(file.ok()) << file.status();
    out_file_ = *std::move(file);
    out_.emplace(std::span(out_file_.data(), out_file_.size()));
  }

  sim::Gid gid() const { return sim::GidOf(fabric_, {.machine = directory_->slot(), .nic = 0}); }

  void Say(const Message& message, std::span<const std::byte> payload = {}) {
    std::byte* room = nullptr;
    while (room == nullptr) room = out_->Reserve(sizeof(Message) + payload.size());
    std::memcpy(room, &message, sizeof(Message));
    if (!payload.empty()) std::memcpy(room + sizeof(Message), payload.data(), payload.size());
    out_->Publish();
    Ring();
  }
  void Ring() {
    sim::MachineSlot& there = directory_->At(0);
    there.incoming[directory_->slot() / 64].fetch_or(std::uint64_t{1} << directory_->slot() % 64);
    sim::Bell(there.bell).Ring();
  }
  bool drained() const { return out_->drained(); }
  // Where the ring's own words are.
  std::byte* ring() { return out_file_.data(); }
  // To others it has left.
  void Leave() { directory_->NoteDeath(directory_->slot(), directory_->incarnation()); }

  // The next message for us; absent: there is none.
  std::optional<Message> Hear() {
    if (!in_.has_value()) {
      // Before it rings for us the first time, its ring may lie there half made.
      if ((directory_->mine().incoming[0].load() & 1) == 0) return std::nullopt;
      auto file =
          sim::SharedFile::Open(directory_->RingName(0, directory_->LivingIn(0), directory_->slot(),
                                                     directory_->incarnation()),
                                std::size_t{1} << 30);
      if (!file.ok()) return std::nullopt;
      in_file_ = *std::move(file);
      in_.emplace(std::span(in_file_.data(), in_file_.size()));
    }
    std::span<const std::byte> bytes;
    if (in_->Next(bytes) != sim::RingReader::Result::kMessage) return std::nullopt;
    const Message message = sim::Parse(bytes)->message;
    in_->Release();
    return message;
  }

 private:
  std::string RingTo(std::uint8_t slot) const {
    return directory_->RingName(directory_->slot(), directory_->incarnation(), slot,
                                directory_->LivingIn(slot));
  }

  const std::uint64_t fabric_;
  const std::uint64_t word_ = 0x1234567890abcdef;
  std::unique_ptr<sim::Directory> directory_;
  sim::SharedFile out_file_;
  std::optional<sim::RingWriter> out_;
  sim::SharedFile in_file_;
  std::optional<sim::RingReader> in_;
};

class RogueTest : public testing::Test {
 protected:
  RogueTest() : victim_(Options()) {}

  StationOptions Options() const {
    StationOptions options;
    options.fabric = fabric_;
    return options;
  }
  std::unique_ptr<Rogue> Join() {
    return std::make_unique<Rogue>(fabric_, sim::TermsOf(StationProfile()));
  }

  std::uint64_t Refused() { return victim_.counters().messages_refused; }
  // A write that is all right, but for its key.
  Message Packet() { return SoundWrite(victim_); }
  void ExpectUnharmed() { sim_testing::ExpectUnharmed(victim_, Options()); }
  // `rogue` says the message `times` times, with as much payload as an MTU, for other operations
  // from 1 on, until it is refused. How often it said it.
  std::uint64_t Flood(Rogue& rogue, Message message, std::uint64_t times) {
    const std::vector<std::byte> bytes(StationProfile().device.mtu, std::byte{0x5a});
    message.length = message.payload_bytes = StationProfile().device.mtu;
    std::uint64_t said = 0;
    while (said < times && Refused() == 0) {
      message.operation = ++said;
      rogue.Say(message, bytes);
      victim_.Poll();
    }
    return said;
  }

  const std::string fabric_ = FreshFabric();
  Station victim_;
  const std::vector<std::byte> payload_ = std::vector<std::byte>(64, std::byte{0x5a});
};

// Its messages are taken in portions, between which others may have the mutex.
TEST_F(RogueTest, WhoWritesWithoutAPauseLeavesTurnsToOthers) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  const std::lock_guard lock(victim_.host().mutex());
  const std::uint64_t before = victim_.host().counters().messages_taken;
  constexpr std::uint64_t kMessages = 300;
  const Message nothing{.type = MessageType::kEnded};
  for (std::uint64_t i = 0; i < kMessages; ++i) rogue->Say(nothing);
  victim_.host().Progress();
  EXPECT_EQ(victim_.host().counters().messages_taken - before, 256u);
  victim_.host().Progress();
  EXPECT_EQ(victim_.host().counters().messages_taken - before, kMessages);
  EXPECT_EQ(victim_.host().counters().messages_refused, 0u);
}

// What it sent before it left counts; it may have left, and write all the same. Several of them: a
// busy machine may not let one write while it is read.
TEST_F(RogueTest, WhoHasLeftAndWritesOnIsNotReadForEver) {
  for (int life = 0; life < 8; ++life) {
    const auto rogue = Join();
    for (int i = 0; i < 10'000; ++i) {  // more than a ring: it is full of them from now on
      rogue->Say({.type = MessageType::kEnded});
      victim_.Poll();
    }
    victim_.PollUntil([&] { return rogue->drained(); });
    const auto word = [&](std::size_t at) {
      return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(rogue->ring() + at));
    };
    const std::uint64_t begun = word(128).load();
    std::atomic<std::uint64_t> rounds = 0;
    std::atomic<bool> stop = false;
    const std::lock_guard lock(victim_.host().mutex());
    const std::uint64_t before = victim_.host().counters().messages_taken;
    rogue->Leave();
    std::thread writes([&] {
      for (; !stop && word(128).load() - begun < 100 * kRingBytes; ++rounds) {
        word(64).store(word(128).load() + kRingBytes);  // as many again as there is room for
      }
    });
    while (rounds < 1000) {
    }
    victim_.host().Progress();
    stop = true;
    writes.join();
    ASSERT_LT(victim_.host().counters().messages_taken - before, 11'000u);
  }
}

TEST_F(RogueTest, WhatIsSoundIsServed) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  rogue->Say(Packet(), payload_);
  std::optional<Message> answer;
  victim_.PollUntil([&] { return (answer = rogue->Hear()).has_value(); });
  EXPECT_EQ(answer->type, MessageType::kAnswer);
  EXPECT_EQ(answer->operation, 1u);
  EXPECT_EQ(answer->status, 0);
  EXPECT_EQ(victim_.Copy(63, 1)[0], std::byte{0x5a});
  EXPECT_EQ(Refused(), 0u);
}

TEST_F(RogueTest, EachFieldIsLookedAt) {
  using Change = std::function<void(Message&)>;
  const Change changes[] = {
      [](Message& message) { message.type = static_cast<MessageType>(0); },
      [](Message& message) { message.type = static_cast<MessageType>(6); },
      [](Message& message) { message.place = static_cast<PayloadPlace>(3); },
      [](Message& message) { message.kind = 9; },
      [](Message& message) { message.initiator_nic = 2; },
      [](Message& message) { message.target_nic = 2; },
      [](Message& message) { message.packet = 1; },
      [](Message& message) { message.length = 65; },
      [](Message& message) { message.length = std::uint64_t{1} << 40; },
      [](Message& message) { message.payload_bytes = 63; },
      [](Message& message) { message.payload_bytes = 72; },
      [](Message& message) { message.payload_bytes = 0xffffffff; },
      [](Message& message) { message.datagram = 1; },
      [](Message& message) { message.source_count = 3; },
      [](Message& message) { message.packet_bytes = 63; },
      [](Message& message) { message.place = PayloadPlace::kNone; },
      [](Message& message) {
        message.place = PayloadPlace::kNone;
        message.payload_bytes = 0;
      },
  };
  std::uint64_t refused = 0;
  for (const Change& change : changes) {
    const auto rogue = Join();
    victim_.Introduce(rogue->gid());
    Message message = Packet();
    change(message);
    rogue->Say(message, payload_);
    ++refused;
    victim_.PollUntil([&] { return Refused() == refused; });
  }
  EXPECT_TRUE(victim_.Copy(0, 1)[0] == std::byte{});
  ExpectUnharmed();
}

// Packets of an operation that has failed may still be on their way: they do nothing.
TEST_F(RogueTest, WhatHasFailedStaysFailedUntilItHasEnded) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  const auto answer = [&] {
    std::optional<Message> message;
    victim_.PollUntil([&] { return (message = rogue->Hear()).has_value(); });
    return std::pair(message->operation, message->status);
  };
  Message wrong = Packet();
  wrong.remote_key ^= 1u << 20;
  rogue->Say(wrong, payload_);
  EXPECT_EQ(answer(), std::pair(std::uint64_t{1}, std::uint8_t{7}));
  rogue->Say(Packet(), payload_);
  Message other = Packet();
  other.operation = 2;
  other.remote_address += 1000;
  rogue->Say(other, payload_);
  EXPECT_EQ(answer(), std::pair(std::uint64_t{2}, std::uint8_t{0}));
  EXPECT_EQ(victim_.Copy(0, 1)[0], std::byte{});
  rogue->Say({.type = MessageType::kEnded, .operation = 1});
  rogue->Say(Packet(), payload_);
  EXPECT_EQ(answer(), std::pair(std::uint64_t{1}, std::uint8_t{0}));
  EXPECT_EQ(victim_.Copy(0, 1)[0], std::byte{0x5a});
}

TEST_F(RogueTest, ARingOfNonsenseIsNotReadAgain) {
  const auto rogue = Join();
  std::memset(rogue->ring() + 64, 0x41, 8);
  rogue->Ring();
  victim_.PollUntil([&] { return Refused() == 1; });
  // To us it is as good as dead.
  EXPECT_EQ(victim_.StatusOf(victim_.Post({.gid = rogue->gid()}, {.length = 8})),
            static_cast<int>(EfaStatus::kLocalUnreachablePeer));
  ExpectUnharmed();
}

// The bell of a machine that was here before may lead us to a ring that its successor is just
// making.
TEST_F(RogueTest, ARingThatIsNotMadeYetIsNotJudged) {
  const auto rogue = Join();
  std::uint64_t capacity = 0;
  std::memcpy(&capacity, rogue->ring(), 8);
  std::memset(rogue->ring(), 0, 8);
  for (int i = 0; i < 20; ++i) {
    rogue->Ring();
    victim_.Poll();
  }
  std::memcpy(rogue->ring(), &capacity, 8);
  rogue->Say(Packet(), payload_);
  std::optional<Message> answer;
  victim_.PollUntil([&] { return (answer = rogue->Hear()).has_value(); });
  EXPECT_EQ(answer->type, MessageType::kAnswer);
  EXPECT_EQ(Refused(), 0u);
}

// Each copy of a message would hold memory until the message finds a receive.
TEST_F(RogueTest, APacketComesSoManyTimesAndNoMore) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  Message message = Packet();
  message.kind = static_cast<std::uint8_t>(fabric::OperationKind::kSend);
  message.rnr_retries = sim::kRetryForEver;
  for (int i = 0; i < 10000 && Refused() == 0; ++i) {
    rogue->Say(message, payload_);
    victim_.Poll();
  }
  victim_.PollUntil([&] {
    victim_.Poll();
    return Refused() == 1;
  });
  ExpectUnharmed();
}

// Messages wait for receives, and their bytes here.
TEST_F(RogueTest, MessagesWithoutAReceiveFillSoMuchMemoryAndNoMore) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  Message message = Packet();
  message.kind = static_cast<std::uint8_t>(fabric::OperationKind::kSend);
  message.rnr_retries = sim::kRetryForEver;
  EXPECT_GT(Flood(*rogue, message, 40'000), 25'000u);
  EXPECT_EQ(Refused(), 1u);
  ExpectUnharmed();
}

// Until its initiator says that it has ended, it is known, and nothing else.
TEST_F(RogueTest, WhatHasFailedHoldsNoBytes) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  Message wrong = Packet();
  wrong.remote_key ^= 1u << 20;
  EXPECT_EQ(Flood(*rogue, wrong, 40'000), 40'000u);
  victim_.PollUntil([&] {
    victim_.Poll();
    return rogue->drained();
  });
  EXPECT_EQ(Refused(), 0u);
  ExpectUnharmed();
}

// Its data would be sent as often, beyond the end of what was asked for.
TEST_F(RogueTest, ARequestToReadComesOnce) {
  for (const std::uint64_t length : {0u, 8u, 20'000u}) {
    const auto rogue = Join();
    victim_.Introduce(rogue->gid());
    const std::uint64_t refused = Refused();
    Message message = Packet();
    message.kind = static_cast<std::uint8_t>(fabric::OperationKind::kRead);
    message.place = PayloadPlace::kNone;
    message.payload_bytes = 0;
    message.length = length;
    {
      const std::lock_guard lock(victim_.host().mutex());  // both come in one turn
      rogue->Say(message);
      rogue->Say(message);
    }
    victim_.PollUntil([&] {
      victim_.Poll();
      return Refused() == refused + 1;
    });
  }
  ExpectUnharmed();
}

// The same packet of data, with the word that another copy of it comes.
TEST_F(RogueTest, TheDataOfAReadComesSoManyTimesAndNoMore) {
  const auto rogue = Join();
  const std::uint32_t mtu = StationProfile().device.mtu;
  const std::uint16_t read =
      victim_.Post({.gid = rogue->gid()}, {.operation = efa::Operation::kRead, .length = 2 * mtu});
  std::optional<Message> request;
  victim_.PollUntil([&] {
    victim_.Poll();
    return (request = rogue->Hear()).has_value() && request->type == MessageType::kPacket;
  });
  const std::vector<std::byte> bytes(mtu, std::byte{0x5a});
  for (int i = 0; i < 1000 && Refused() == 0; ++i) {
    rogue->Say({.type = MessageType::kReadData,
                .place = PayloadPlace::kMessage,
                .operation = request->operation,
                .packet = sim::PacketFlags::kCopyFollows,
                .payload_bytes = mtu,
                .packet_bytes = mtu},
               bytes);
    victim_.Poll();
  }
  EXPECT_EQ(victim_.StatusOf(read), static_cast<int>(EfaStatus::kLocalUnreachablePeer));
  EXPECT_EQ(Refused(), 1u);
}

// A process that is short of descriptors looks again.
TEST_F(RogueTest, AMessageThatCannotBeReadNowIsReadLater) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  rogue->Say(Packet(), payload_);
  for (int i = 0; i < 100; ++i) victim_.Poll();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  std::optional<Message> answer;
  victim_.PollUntil([&] { return (answer = rogue->Hear()).has_value(); });
  EXPECT_EQ(answer->type, MessageType::kAnswer);
  EXPECT_EQ(answer->status, 0);
}

TEST_F(RogueTest, NobodyAnswersForOthers) {
  const auto rogue = Join();
  Station other(Options());
  const std::uint16_t waits = victim_.Post(other.address(), {.length = 8});  // for a receive
  other.PollUntil([&] {
    other.Poll();
    return other.device_counters().rx_drops > 0;
  });
  for (std::uint64_t slot = 0; slot < 4; ++slot) {
    for (std::uint64_t generation = 0; generation < 4; ++generation) {
      for (const MessageType type : {MessageType::kAnswer, MessageType::kLost,
                                     MessageType::kReadData, MessageType::kEnded}) {
        rogue->Say({.type = type, .operation = generation << 32 | slot});
      }
    }
  }
  victim_.PollUntil([&] { return rogue->drained(); });
  EXPECT_FALSE(victim_.Poll().has_value());
  other.PostReceive(0, 8, 1);
  EXPECT_EQ(victim_.StatusOf(waits), 0);
}

TEST_F(RogueTest, AnAnswerMaySayAnything) {
  const auto rogue = Join();
  for (int status = 0; status < 256; status += 5) {
    const std::uint16_t sent = victim_.Post({.gid = rogue->gid()}, {.length = 8});
    std::optional<Message> packet;
    victim_.PollUntil([&] {
      victim_.Poll();
      return (packet = rogue->Hear()).has_value() && packet->type == MessageType::kPacket;
    });
    rogue->Say({.type = MessageType::kAnswer,
                .status = static_cast<std::uint8_t>(status),
                .operation = packet->operation});
    const auto said = static_cast<std::uint8_t>(status);
    EXPECT_EQ(victim_.StatusOf(sent),
              sim::IsKnown(said) ? status : static_cast<int>(EfaStatus::kRemoteBadStatus));
  }
}

// The sender of a read's data divides it, but not into packets that EFA does not know.
TEST_F(RogueTest, TheDataOfAReadComesInPackets) {
  const std::uint32_t mtu = StationProfile().device.mtu;
  const std::vector<std::byte> bytes(2 * mtu, std::byte{0x5a});
  struct Division {
    std::uint32_t packet_bytes;
    std::uint32_t payload_bytes;
    bool refused;
  };
  std::uint64_t refused = 0;
  for (const Division& division :
       {Division{mtu, mtu, false}, Division{2 * mtu, 2 * mtu, false}, Division{mtu, mtu - 1, true},
        Division{mtu - 1, mtu - 1, true}, Division{2 * mtu, mtu, true}}) {
    const auto rogue = Join();
    const std::uint16_t read = victim_.Post(
        {.gid = rogue->gid()}, {.operation = efa::Operation::kRead, .length = 2 * mtu});
    std::optional<Message> request;
    victim_.PollUntil([&] {
      victim_.Poll();
      return (request = rogue->Hear()).has_value() && request->type == MessageType::kPacket;
    });
    const std::uint32_t packets = 2 * mtu / division.packet_bytes;
    for (std::uint32_t packet = 0; packet < packets; ++packet) {
      rogue->Say({.type = MessageType::kReadData,
                  .place = PayloadPlace::kMessage,
                  .operation = request->operation,
                  .packet = packet,
                  .payload_bytes = division.payload_bytes,
                  .packet_bytes = division.packet_bytes},
                 std::span(bytes).first(division.payload_bytes));
    }
    if (division.refused) ++refused;
    EXPECT_EQ(victim_.StatusOf(read),
              division.refused ? static_cast<int>(EfaStatus::kLocalUnresponsivePeer) : 0)
        << division.packet_bytes << " " << division.payload_bytes;
    EXPECT_EQ(Refused(), refused);
  }
}

TEST_F(RogueTest, BytesThatAreNowhereAreLost) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  Message message = Packet();
  message.place = PayloadPlace::kSender;
  message.payload_bytes = 0;
  message.source_count = 1;
  message.sources[0] = {.address = 4096, .length = 64};
  rogue->Say(message);
  std::optional<Message> answer;
  victim_.PollUntil([&] { return (answer = rogue->Hear()).has_value(); });
  EXPECT_EQ(answer->type, MessageType::kLost);
  EXPECT_EQ(Refused(), 0u);
  ExpectUnharmed();
}

// Messages that are nearly right, thousands of them, from one incarnation after the other.
TEST_F(RogueTest, AnythingIsSurvived) {
  for (std::uint64_t life = 0; life < 60; ++life) {
    const auto rogue = Join();
    victim_.Introduce(rogue->gid());
    for (std::uint64_t i = 0; i < 60 && Refused() <= life; ++i) {
      Message message = Packet();
      const std::uint64_t word = sim::Combine(life, i);
      message.operation = word % 5;
      auto* bytes = reinterpret_cast<std::uint8_t*>(&message);
      for (std::uint64_t change = 0; change < word % 4; ++change) {
        const std::uint64_t how = sim::Combine(word, change);
        bytes[how % 64] =
            static_cast<std::uint8_t>((how >> 8) % 2 == 0 ? (how >> 16) % 4 : how >> 16);
      }
      if (message.target_nic > 1) message.target_nic = 0;
      rogue->Say(message, payload_);
    }
    victim_.PollUntil([&] {
      victim_.Poll();
      return rogue->drained() || Refused() > life;
    });
    std::uint64_t refused = Refused();
    if (refused <= life) {
      std::memset(rogue->ring() + 64, 0x41, 8);
      rogue->Ring();
      victim_.PollUntil([&] { return Refused() > life; });
      refused = Refused();
    }
    ASSERT_EQ(refused, life + 1);
  }
  while (victim_.Poll().has_value()) {
  }
  ExpectUnharmed();
}

}  // namespace
}  // namespace drydock::sim_testing
