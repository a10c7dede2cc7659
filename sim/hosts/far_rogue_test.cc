// Strangers at a machine's socket, and a machine that has the key and sends nonsense: the machine
// does not crash, trusts none of it, and its traffic with others goes on.

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/sim/efa_status.h"
#include "drydock/sim/hosts/gid.h"
#include "drydock/sim/hosts/message.h"
#include "drydock/sim/hosts/sockets/call.h"
#include "drydock/sim/hosts/sockets/handshake.h"
#include "drydock/sim/hosts/sockets/membership.h"
#include "drydock/sim/hosts/sockets/socket.h"
#include "drydock/sim/hosts/sockets/stream.h"
#include "drydock/sim/hosts/sockets/testing/meeting.h"
#include "drydock/sim/hosts/testing/station.h"
#include "drydock/sim/hosts/testing/victim.h"
#include "drydock/sim/random.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;
using sim::Message;
using sim::MessageType;
using sim::PayloadPlace;
using sim::Purpose;
using sim::Seat;
using sim::Stream;

constexpr coro::Duration kGuard = 100s;
constexpr std::size_t kLongest = 70000;

// A machine of the network without a host.
class FarRogue {
 public:
  FarRogue(const Meeting& meeting, const std::string& fabric)
      : key_(meeting.key()), fabric_(sim::FabricNumber(fabric, 1)) {
    listening_ = *sim::Socket::Bind(*sim::SocketAddress::Of("127.0.0.1", 0));
    EXPECT_TRUE(listening_.Listen().ok());
    auto called = sim::CallRendezvous(meeting.network(), meeting.key_file(), kGuard);
    EXPECT_TRUE(called.ok()) << called.status();
    auto joined =
        sim::Membership::Join(std::move(called->stream), fabric_, sim::TermsOf(StationProfile()),
                              12345, listening_.LocalAddress().port());
    EXPECT_TRUE(joined.ok()) << joined.status();
    membership_ = *std::move(joined);
  }

  sim::Gid gid() const { return sim::GidOf(fabric_, {.machine = Us().slot, .nic = 0}); }
  Seat Us() const { return membership_->seat(); }
  Seat Victim() const {
    Seat seat = Us();
    seat.slot = 0;
    seat.incarnation = membership_->At(0).incarnation;
    return seat;
  }

  // A connection to the victim that has said nothing.
  Stream Connect() const {
    Stream stream(*sim::Socket::Dial(membership_->At(0).address), kLongest, 1 << 20);
    pollfd connected{.fd = stream.fd(), .events = POLLOUT, .revents = 0};
    EXPECT_EQ(poll(&connected, 1, kGuard / 1ms), 1);
    return stream;
  }
  // One that says this; absent: the victim does not answer.
  std::optional<Stream> Call(Purpose purpose, const Seat& from, const Seat& to) const {
    Stream stream = Connect();
    const sim::Caller caller(key_, purpose, from, to);
    stream.Say(caller.hello());
    std::span<const std::byte> challenge;
    if (!sim::Await(stream, challenge, kGuard)) return std::nullopt;
    const auto proof = caller.Answer(challenge);
    stream.Release();
    EXPECT_TRUE(proof.has_value());
    if (proof.has_value()) stream.Say(*proof);
    return stream;
  }
  void Open() {
    std::optional<Stream> called = Call(Purpose::kPeer, Us(), Victim());
    ASSERT_TRUE(called.has_value());
    out_ = std::make_unique<Stream>(*std::move(called));
  }

  Stream& out() { return *out_; }
  void Say(const Message& message, std::span<const std::byte> payload = {}) {
    std::byte* const room = out_->Reserve(sizeof(Message) + payload.size());
    ASSERT_NE(room, nullptr);
    std::memcpy(room, &message, sizeof(Message));
    if (!payload.empty()) std::memcpy(room + sizeof(Message), payload.data(), payload.size());
    out_->Send();
  }
  // The next message for us; absent: there is none yet.
  std::optional<Message> Hear() {
    if (in_ == nullptr) {
      sim::Socket socket = listening_.Accept();
      if (!socket.valid()) return std::nullopt;
      in_ = std::make_unique<Stream>(std::move(socket), kLongest, 1 << 20);
      sim::Called called(key_);
      std::span<const std::byte> message;
      EXPECT_TRUE(sim::Await(*in_, message, kGuard));
      const auto challenge = called.Greet(message);
      in_->Release();
      EXPECT_TRUE(challenge.has_value());
      if (challenge.has_value()) in_->Say(*challenge);
      proof_of_.emplace(called);
    }
    in_->Receive();
    std::span<const std::byte> bytes;
    if (!in_->Next(bytes)) return std::nullopt;
    if (proof_of_.has_value()) {
      EXPECT_TRUE(proof_of_->Believes(bytes));
      EXPECT_EQ(proof_of_->hello().from, Victim());
      proof_of_.reset();
      in_->Release();
      return Hear();
    }
    const Message message = sim::Parse(bytes)->message;
    in_->Release();
    return message;
  }
  void Forget() { in_.reset(); }
  void StopListening() { listening_ = sim::Socket(); }

 private:
  const sim::Key key_;
  const std::uint64_t fabric_;
  sim::Socket listening_;
  std::unique_ptr<sim::Membership> membership_;
  std::unique_ptr<Stream> out_;
  std::unique_ptr<Stream> in_;
  std::optional<sim::Called> proof_of_;
};

class FarRogueTest : public testing::Test {
 protected:
  FarRogueTest() : victim_(Options()) {}

  StationOptions Options() const {
    StationOptions options;
    options.fabric = fabric_;
    options.network = meeting_.network();
    options.key_file = meeting_.key_file();
    options.shared_memory = false;
    return options;
  }
  std::unique_ptr<FarRogue> Join() { return std::make_unique<FarRogue>(meeting_, fabric_); }
  std::uint64_t Refused() { return victim_.counters().messages_refused; }
  // Until the victim has closed it.
  void ExpectClosed(Stream& stream) {
    victim_.PollUntil([&] {
      victim_.Poll();
      std::span<const std::byte> message;
      stream.Receive();
      while (stream.Next(message)) stream.Release();
      return stream.ended();
    });
  }
  // A write that is all right.
  Message Packet() { return SoundWrite(victim_); }
  Message AnswerTo(FarRogue& rogue) {
    std::optional<Message> answer;
    victim_.PollUntil([&] {
      victim_.Poll();
      // Of operations that it gave up it says so.
      return (answer = rogue.Hear()).has_value() && answer->type != MessageType::kEnded;
    });
    return *answer;
  }
  void ExpectUnharmed() { sim_testing::ExpectUnharmed(victim_, Options()); }

  Meeting meeting_;  // first: it forks
  const std::string fabric_ = FreshFabric();
  Station victim_;
  const std::vector<std::byte> payload_ = std::vector<std::byte>(64, std::byte{0x5a});
};

TEST_F(FarRogueTest, WhatIsSoundIsServed) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  rogue->Open();
  rogue->Say(Packet(), payload_);
  const Message answer = AnswerTo(*rogue);
  EXPECT_EQ(answer.type, MessageType::kAnswer);
  EXPECT_EQ(answer.operation, 1u);
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(victim_.Copy(63, 1)[0], std::byte{0x5a});
  EXPECT_EQ(Refused(), 0u);
}

// It calls us, and takes no call of ours: what we ask of it ends all the same.
TEST_F(FarRogueTest, AMachineThatCannotBeReachedIsSilentAlthoughItReachesUs) {
  const auto rogue = Join();
  rogue->StopListening();
  victim_.Introduce(rogue->gid());
  rogue->Open();
  rogue->Say(Packet(), payload_);
  victim_.PollUntil([&] {
    victim_.Poll();
    return victim_.counters().messages_taken > 0;
  });
  const std::uint16_t sent = victim_.Post({.gid = rogue->gid()}, {.length = 8});
  // Whether the request was on its way when the call failed decides which.
  const auto status = static_cast<sim::EfaStatus>(victim_.StatusOf(sent));
  EXPECT_TRUE(status == sim::EfaStatus::kLocalUnreachablePeer ||
              status == sim::EfaStatus::kLocalUnresponsivePeer)
      << static_cast<int>(status);
}

TEST_F(FarRogueTest, StrangersAreNotListenedTo) {
  const auto rogue = Join();
  for (std::uint64_t life = 0; life < 60; ++life) {
    Stream stranger = rogue->Connect();
    std::vector<std::uint8_t> bytes(1 + sim::Combine(life, 0) % 3000);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>(sim::Combine(life, i));
    }
    // A length that can be, so that the rest is looked at; whole or cut.
    const std::uint32_t length = life % 2 == 0 ? sizeof(sim::Hello) : 60;
    if (life % 3 != 0 && bytes.size() > 4) std::memcpy(bytes.data(), &length, sizeof(length));
    EXPECT_GT(send(stranger.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    if (life % 3 == 0 && bytes.size() > 100) ExpectClosed(stranger);
  }
  EXPECT_EQ(Refused(), 0u);
  ExpectUnharmed();
}

// By the victim's own thread: its program does nothing, and no other machine says anything.
TEST_F(FarRogueTest, ASilentStrangerIsDroppedByAnIdleMachine) {
  const auto rogue = Join();
  Stream stranger = rogue->Connect();
  pollfd closed{.fd = stranger.fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&closed, 1, kGuard / 1ms), 1);
  stranger.Receive();
  EXPECT_TRUE(stranger.ended());
}

// At once: one that came before it, and says nothing, is still there. Where the victim has no
// processor for as long as silent ones may be there, it is asked once more.
TEST_F(FarRogueTest, ALengthThatCannotBeEndsAStranger) {
  const auto rogue = Join();
  for (const std::uint32_t length : {0u, 65u, 0x7fffffffu, 0xffffffffu}) {
    bool at_once = false;
    for (int attempt = 0; attempt < 5 && !at_once; ++attempt) {
      Stream silent = rogue->Connect();
      Stream stranger = rogue->Connect();
      EXPECT_EQ(send(stranger.fd(), &length, sizeof(length), MSG_NOSIGNAL), 4);
      ExpectClosed(stranger);
      silent.Receive();
      at_once = !silent.ended();
    }
    EXPECT_TRUE(at_once) << length;
  }
}

TEST_F(FarRogueTest, NobodySpeaksWithoutTheKey) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  sim::Key other = meeting_.key();
  other[3] ^= std::byte{1};
  Stream stream = rogue->Connect();
  const sim::Caller caller(other, Purpose::kPeer, rogue->Us(), rogue->Victim());
  stream.Say(caller.hello());
  std::span<const std::byte> challenge;
  ASSERT_TRUE(sim::Await(stream, challenge, kGuard));
  EXPECT_FALSE(caller.Answer(challenge).has_value());
  stream.Release();
  stream.Say(sim::Proof{});
  struct {
    Message message;
    std::array<std::byte, 64> payload;
  } packet{.message = Packet(), .payload = {}};
  packet.payload.fill(std::byte{0x5a});
  stream.Say(packet);
  ExpectClosed(stream);
  EXPECT_EQ(victim_.Copy(0, 1)[0], std::byte{});
}

// A caller with the key may name a wrong machine, as itself or as its peer: one of another time, or
// of another network.
TEST_F(FarRogueTest, OnlyMachinesThatAreThereSpeak) {
  const auto rogue = Join();
  const std::function<void(Purpose&, Seat&, Seat&)> changes[] = {
      [](Purpose& purpose, Seat&, Seat&) { purpose = Purpose::kMember; },
      [](Purpose&, Seat& from, Seat&) { ++from.incarnation; },
      [](Purpose&, Seat& from, Seat&) { from.slot = 0; },    // the victim itself
      [](Purpose&, Seat& from, Seat&) { from.slot = 200; },  // no machine
      [](Purpose&, Seat& from, Seat&) { ++from.network; },
      [](Purpose&, Seat&, Seat& to) { ++to.incarnation; },
      [](Purpose&, Seat&, Seat& to) { ++to.slot; },
      [](Purpose&, Seat&, Seat& to) { ++to.network; },
  };
  for (const auto& change : changes) {
    Purpose purpose = Purpose::kPeer;
    Seat from = rogue->Us();
    Seat to = rogue->Victim();
    change(purpose, from, to);
    std::optional<Stream> stream = rogue->Call(purpose, from, to);
    ASSERT_TRUE(stream.has_value());
    ExpectClosed(*stream);
  }
  EXPECT_EQ(Refused(), 0u);
}

TEST_F(FarRogueTest, AMachineThatWritesNonsenseIsNotBelievedAgain) {
  const std::function<void(FarRogue&)> crimes[] = {
      [](FarRogue& rogue) {  // no message has so many bytes
        const std::uint32_t length = 0xffffffffu;
        EXPECT_EQ(send(rogue.out().fd(), &length, sizeof(length), MSG_NOSIGNAL), 4);
      },
      [](FarRogue& rogue) { rogue.out().Say(std::uint64_t{7}); },  // nor so few
      [&](FarRogue& rogue) {                                       // its memory cannot be read
        Message message = Packet();
        message.place = PayloadPlace::kSender;
        message.payload_bytes = 0;
        message.source_count = 1;
        message.sources[0] = {.address = victim_.address().memory, .length = 64};
        rogue.Say(message);
      },
      [&](FarRogue& rogue) {
        Message message = Packet();
        message.length = std::uint64_t{1} << 40;
        rogue.Say(message, payload_);
      },
  };
  std::uint64_t refused = 0;
  for (const auto& crime : crimes) {
    const auto rogue = Join();
    victim_.Introduce(rogue->gid());
    rogue->Open();
    crime(*rogue);
    ++refused;
    ExpectClosed(rogue->out());
    EXPECT_EQ(Refused(), refused);
    std::optional<Stream> again = rogue->Call(Purpose::kPeer, rogue->Us(), rogue->Victim());
    ASSERT_TRUE(again.has_value());
    ExpectClosed(*again);
    EXPECT_EQ(victim_.StatusOf(victim_.Post({.gid = rogue->gid()}, {.length = 8})),
              static_cast<int>(sim::EfaStatus::kLocalUnreachablePeer));
  }
  EXPECT_EQ(victim_.Copy(0, 1)[0], std::byte{});
  ExpectUnharmed();
}

// Nobody waits for answers: they would fill our memory.
TEST_F(FarRogueTest, AMachineThatDoesNotReadItsAnswersIsGivenUp) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  rogue->Open();
  Message message = Packet();
  ++message.destination_queue_pair;  // there is none
  for (int batch = 0; batch < 6000 && Refused() == 0; ++batch) {
    for (int i = 0; i < 64; ++i) {
      rogue->Say(message, payload_);
      ++message.operation;
    }
    victim_.PollUntil([&] {
      victim_.Poll();
      rogue->out().Send();
      return rogue->out().unsent() == 0 || rogue->out().ended();
    });
  }
  ExpectClosed(rogue->out());
  EXPECT_EQ(Refused(), 1u);
  // So many answers may wait for a process that was stopped.
  EXPECT_GT(victim_.counters().messages_taken, 100'000u);
  ExpectUnharmed();
}

TEST_F(FarRogueTest, ACutMessageIsNone) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  rogue->Open();
  const std::uint32_t length = sizeof(Message) + 64;
  EXPECT_EQ(send(rogue->out().fd(), &length, sizeof(length), MSG_NOSIGNAL), 4);
  const Message packet = Packet();
  EXPECT_EQ(send(rogue->out().fd(), &packet, 50, MSG_NOSIGNAL), 50);
  shutdown(rogue->out().fd(), SHUT_WR);
  ExpectClosed(rogue->out());
  EXPECT_EQ(Refused(), 0u);
  ExpectUnharmed();
}

// A machine that has lost the other one calls again: operations under way are lost, the rest goes
// on.
TEST_F(FarRogueTest, ASecondCallBeginsAnew) {
  const auto rogue = Join();
  victim_.Introduce(rogue->gid());
  const std::uint16_t waits = victim_.Post({.gid = rogue->gid()}, {.length = 8});
  EXPECT_EQ(AnswerTo(*rogue).type, MessageType::kPacket);  // and it will get no answer
  rogue->Open();
  rogue->Say(Packet(), payload_);
  EXPECT_EQ(AnswerTo(*rogue).type, MessageType::kAnswer);
  std::optional<Stream> second = rogue->Call(Purpose::kPeer, rogue->Us(), rogue->Victim());
  ASSERT_TRUE(second.has_value());
  ExpectClosed(rogue->out());
  EXPECT_EQ(victim_.StatusOf(waits), static_cast<int>(sim::EfaStatus::kLocalUnresponsivePeer));
  rogue->out() = *std::move(second);
  rogue->Forget();
  rogue->Say(Packet(), payload_);
  const Message answer = AnswerTo(*rogue);
  EXPECT_EQ(answer.type, MessageType::kAnswer);
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(Refused(), 0u);
}

// Messages that are nearly right, from one machine after the other.
TEST_F(FarRogueTest, AnythingIsSurvived) {
  for (std::uint64_t life = 0; life < 30; ++life) {
    const auto rogue = Join();
    victim_.Introduce(rogue->gid());
    rogue->Open();
    const std::uint64_t before = Refused();
    for (std::uint64_t i = 0; i < 60 && Refused() == before; ++i) {
      Message message = Packet();
      const std::uint64_t word = sim::Combine(life, i);
      message.operation = word % 5;
      auto* bytes = reinterpret_cast<std::uint8_t*>(&message);
      for (std::uint64_t change = 0; change < word % 4; ++change) {
        const std::uint64_t how = sim::Combine(word, change);
        bytes[how % sizeof(Message)] =
            static_cast<std::uint8_t>((how >> 8) % 2 == 0 ? (how >> 16) % 4 : how >> 16);
      }
      rogue->Say(message, payload_);
      victim_.Poll();
    }
    shutdown(rogue->out().fd(), SHUT_WR);
    ExpectClosed(rogue->out());
    ASSERT_LE(Refused(), before + 1);
  }
  EXPECT_GT(Refused(), 0u);
  while (victim_.Poll().has_value()) {
  }
  ExpectUnharmed();
}

}  // namespace
}  // namespace drydock::sim_testing
