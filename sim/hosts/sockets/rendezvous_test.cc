// The rendezvous and its members: slots, news, refusals, and strangers.

#include "drydock/sim/hosts/sockets/rendezvous.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/sim/hosts/sockets/call.h"
#include "drydock/sim/hosts/sockets/handshake.h"
#include "drydock/sim/hosts/sockets/key.h"
#include "drydock/sim/hosts/sockets/mac.h"
#include "drydock/sim/hosts/sockets/membership.h"
#include "drydock/sim/hosts/sockets/network_name.h"
#include "drydock/sim/hosts/sockets/recall.h"
#include "drydock/sim/hosts/sockets/socket.h"
#include "drydock/sim/hosts/sockets/stream.h"
#include "drydock/sim/hosts/sockets/testing/meeting.h"
#include "drydock/sim/random.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;
using sim::Control;
using sim::ControlType;
using sim::Membership;

constexpr coro::Duration kGuard = 100s;

// Containers may see folders of one file system as their shared memory.
TEST(HostNumberTest, TwoFoldersOfAFileSystemAreTwoSharedMemories) {
  std::string one = testing::TempDir() + "/memory-XXXXXX";
  std::string other = one;
  ASSERT_NE(mkdtemp(one.data()), nullptr);
  ASSERT_NE(mkdtemp(other.data()), nullptr);
  EXPECT_EQ(sim::HostNumber(one.c_str()), sim::HostNumber((one + "/.").c_str()));
  EXPECT_NE(sim::HostNumber(one.c_str()), sim::HostNumber(other.c_str()));
  rmdir(one.c_str());
  rmdir(other.c_str());
}

class RendezvousTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Membership>> TryToJoin(std::uint64_t fabric,
                                                        const std::string& profile) {
    auto called = sim::CallRendezvous(meeting_.network(), meeting_.key_file(), kGuard);
    if (!called.ok()) return called.status();
    return Membership::Join(std::move(called->stream), fabric,
                            {.profile = profile, .fingerprint = profile.size()}, 5, 1000);
  }
  std::unique_ptr<Membership> Join(std::uint64_t fabric = 1) {
    auto membership = TryToJoin(fabric, "some");
    EXPECT_TRUE(membership.ok()) << membership.status();
    if (!membership.ok()) std::abort();
    return *std::move(membership);
  }
  // Members listen to the news only in here.
  template <typename Done>
  void ListenUntil(const std::vector<Membership*>& members, Done done) {
    for (int i = 0; i < kGuard / 10ms && !done(); ++i) {
      for (Membership* member : members) member->Listen();
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_TRUE(done());
  }
  // A connection that has said nothing yet.
  sim::Stream Connect() {
    const sim::NetworkName name = *sim::ParseNetworkName(meeting_.network());
    auto socket = sim::Socket::Dial(*sim::SocketAddress::Of(name.host, name.port));
    EXPECT_TRUE(socket.ok()) << socket.status();
    return sim::Stream(*std::move(socket), sizeof(Control), 1 << 16);
  }
  // What the machine with this seat has when it has called again.
  sim::Stream Recalled(const sim::Seat& seat) {
    coro::SteadyClock clock;
    const sim::NetworkName name = *sim::ParseNetworkName(meeting_.network());
    sim::Recall recall(*sim::SocketAddress::Of(name.host, name.port), meeting_.key(), 1, seat,
                       clock.Now());
    std::optional<sim::Stream> stream;
    const coro::Time deadline = clock.Now() + kGuard;
    while (!stream.has_value() && clock.Now() < deadline) {
      stream = recall.Turn(clock.Now());
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(stream.has_value());
    if (!stream.has_value()) std::abort();
    return *std::move(stream);
  }
  void ExpectClosed(sim::Stream& stream) {
    std::span<const std::byte> message;
    EXPECT_FALSE(sim::Await(stream, message, kGuard));
    EXPECT_TRUE(stream.ended());
  }

  Meeting meeting_;
};

TEST_F(RendezvousTest, EachHasASlotAndKnowsOfAllOthers) {
  const auto first = Join();
  EXPECT_EQ(first->seat().slot, 0);
  std::unique_ptr<Membership> second;
  std::thread joins([&] { second = Join(); });
  ListenUntil({first.get()}, [&] { return first->At(1).present; });
  joins.join();
  EXPECT_EQ(second->seat().slot, 1);
  EXPECT_EQ(second->seat().network, first->seat().network);
  EXPECT_NE(second->seat().incarnation, first->seat().incarnation);
  EXPECT_TRUE(second->At(0).present);
  EXPECT_EQ(second->At(0).incarnation, first->seat().incarnation);
  EXPECT_EQ(first->At(1).host, 5u);
  EXPECT_EQ(first->At(1).address.port(), 1000);
  EXPECT_FALSE(first->At(2).present);
}

TEST_F(RendezvousTest, WhoComesIsKnownToAllWhenHeIsThere) {
  const auto first = Join();
  std::atomic<bool> joined{false};
  const auto begun = std::chrono::steady_clock::now();
  std::thread joins([&] {
    Join();
    joined = true;
  });
  std::this_thread::sleep_for(200ms);
  const bool early = joined;
  const auto passed = std::chrono::steady_clock::now() - begun;
  EXPECT_TRUE(!early || passed > 1s) << "a stopped machine is given a second";
  ListenUntil({first.get()}, [&] { return joined.load(); });
  joins.join();
}

// Those that connect without end would keep it busy for ever: it turns to the others in between.
TEST(RendezvousTurnTest, ACrowdAtTheDoorIsLetInBitByBit) {
  const sim::Key key{};
  auto listening = sim::Socket::Bind(*sim::SocketAddress::Of("127.0.0.1", 0));
  ASSERT_TRUE(listening.ok() && listening->Listen().ok()) << listening.status();
  const sim::SocketAddress address = listening->LocalAddress();
  sim::Rendezvous rendezvous(*std::move(listening), key);
  std::vector<sim::Stream> crowd;
  for (int i = 0; i < sim::Rendezvous::kMostAccepted + 1; ++i) {
    auto socket = sim::Socket::Dial(address);
    ASSERT_TRUE(socket.ok()) << socket.status();
    crowd.emplace_back(*std::move(socket), sizeof(Control), 1 << 16);
    crowd.back().Say(sim::Caller(key, sim::Purpose::kMember).hello());
  }
  const auto is_answered = [](sim::Stream& stream) {
    std::span<const std::byte> challenge;
    stream.Send();  // what did not go out while it was connecting
    stream.Receive();
    return stream.Next(challenge);
  };
  rendezvous.Turn();  // accepts
  rendezvous.Turn();  // hears those, and accepts the last
  EXPECT_FALSE(is_answered(crowd.back()));
  bool answered = false;
  for (int i = 0; i < 100 && !answered; ++i) {
    rendezvous.Turn();
    answered = is_answered(crowd.back());
  }
  EXPECT_TRUE(answered);
  EXPECT_TRUE(is_answered(crowd.front()));
}

TEST_F(RendezvousTest, AMachineThatDoesNotListenHoldsNobodyUpForLong) {
  const auto stopped = Join();
  const auto second = Join();
  EXPECT_EQ(second->seat().slot, 1);
}

// News may come right behind the welcome, in one piece with it.
TEST_F(RendezvousTest, NewsBehindTheWelcomeAreTaken) {
  sim::Socket listening = *sim::Socket::Bind(*sim::SocketAddress::Of("127.0.0.1", 0));
  ASSERT_TRUE(listening.Listen().ok());
  sim::Socket ours = *sim::Socket::Dial(listening.LocalAddress());
  pollfd readable{.fd = listening.fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&readable, 1, kGuard / 1ms), 1);
  sim::Stream rendezvous(listening.Accept(), sizeof(Control), 1 << 16);
  Control welcome;
  welcome.type = ControlType::kWelcome;
  Control news;
  news.type = ControlType::kNews;
  news.present = 1;
  news.seat.slot = 9;
  rendezvous.Say(welcome);
  rendezvous.Say(news);
  const auto joined =
      Membership::Join(sim::Stream(std::move(ours), sizeof(Control), 1 << 16), 1, {}, 5, 1000);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_TRUE((*joined)->At(9).present);
}

TEST_F(RendezvousTest, WhoGoesIsTold) {
  const auto first = Join();
  auto second = Join();
  ListenUntil({first.get()}, [&] { return first->At(1).present; });
  const std::uint32_t epoch = first->epoch();
  second.reset();
  ListenUntil({first.get()}, [&] { return !first->At(1).present; });
  EXPECT_GT(first->epoch(), epoch);
  const auto third = Join();
  EXPECT_EQ(third->seat().slot, 1);
  EXPECT_NE(third->seat().incarnation, first->At(1).incarnation);
}

// ---- A machine that was out of reach ----

TEST_F(RendezvousTest, WhoCallsAgainHasItsSeat) {
  const auto first = Join();
  const auto second = Join();
  const auto third = Join();
  ListenUntil({first.get(), second.get()},
              [&] { return first->At(2).present && second->At(2).present; });
  const std::uint32_t epoch = second->epoch();
  first->Resume(Recalled(first->seat()));
  // Nobody has heard of it, and all hear of who comes next.
  const auto fourth = Join();
  ListenUntil({first.get(), second.get()},
              [&] { return first->At(3).present && second->At(3).present; });
  EXPECT_TRUE(first->At(1).present);
  EXPECT_TRUE(first->At(2).present);
  EXPECT_TRUE(second->At(0).present);
  EXPECT_EQ(second->epoch(), epoch + 1);
  EXPECT_TRUE(fourth->At(0).present);
  EXPECT_EQ(fourth->At(0).incarnation, first->seat().incarnation);
}

TEST_F(RendezvousTest, WhoLeftMeanwhileIsForgotten) {
  const auto first = Join();
  auto second = Join();
  const auto witness = Join();
  ListenUntil({first.get()}, [&] { return first->At(1).present; });
  second.reset();
  ListenUntil({witness.get()}, [&] { return !witness->At(1).present; });
  first->Resume(Recalled(first->seat()));
  ListenUntil({first.get()}, [&] { return !first->At(1).present; });
  EXPECT_TRUE(first->At(2).present);
}

// It closes its old connection behind its call, and the rendezvous hears of both at once.
TEST_F(RendezvousTest, WhoCallsAgainHasNotLeft) {
  const auto first = Join();
  const auto witness = Join();
  ListenUntil({first.get()}, [&] { return first->At(1).present; });
  coro::SteadyClock clock;
  const sim::NetworkName name = *sim::ParseNetworkName(meeting_.network());
  sim::Recall recall(*sim::SocketAddress::Of(name.host, name.port), meeting_.key(), 1,
                     first->seat(), clock.Now());
  std::optional<sim::Stream> stream;
  for (int i = 0; i < kGuard / 10ms && !stream.has_value(); ++i) {
    meeting_.Thaw();
    std::this_thread::sleep_for(10ms);
    meeting_.Freeze();
    stream = recall.Turn(clock.Now());
  }
  ASSERT_TRUE(stream.has_value());
  first->Resume(*std::move(stream));
  const std::uint32_t epoch = first->epoch();
  meeting_.Thaw();
  // The news of the witness, and the welcome.
  ListenUntil({first.get(), witness.get()}, [&] { return first->epoch() == epoch + 2; });
  EXPECT_TRUE(first->At(1).present);
  EXPECT_TRUE(witness->At(0).present);
}

TEST_F(RendezvousTest, NobodyReturnsToASeatThatIsNotKept) {
  const auto first = Join();
  sim::Seat seat = first->seat();
  ++seat.incarnation;
  first->Resume(Recalled(seat));
  bool listens = true;
  for (int i = 0; i < kGuard / 10ms && listens; ++i) {
    std::this_thread::sleep_for(10ms);
    listens = first->Listen();
  }
  EXPECT_FALSE(listens);
  EXPECT_FALSE(first->cut());
}

TEST_F(RendezvousTest, FabricsAreApart) {
  const auto one = Join(1);
  const auto other = Join(2);
  EXPECT_EQ(other->seat().slot, 0);
  EXPECT_NE(other->seat().network, one->seat().network);
  EXPECT_EQ(one->epoch(), 0u);
}

TEST_F(RendezvousTest, OtherTermsAreRefused) {
  const auto one = Join();
  const auto other = TryToJoin(1, "another");
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(other.status().message(),
            "the machines of the network are of profile some, this one would be of another");
  EXPECT_TRUE(TryToJoin(2, "another").ok());
}

TEST_F(RendezvousTest, ThereAreSoManyMachinesAndNoMore) {
  std::mutex mutex;
  std::vector<std::unique_ptr<Membership>> members;
  std::atomic<bool> done{false};
  std::thread listens([&] {
    while (!done) {
      {
        const std::lock_guard lock(mutex);
        for (const auto& member : members) member->Listen();
      }
      std::this_thread::sleep_for(1ms);  // who takes the mutex again at once leaves it to nobody
    }
  });
  for (std::size_t i = 0; i < sim::kMachines; ++i) {
    auto member = Join();
    EXPECT_EQ(member->seat().slot, i);
    const std::lock_guard lock(mutex);
    members.push_back(std::move(member));
  }
  EXPECT_EQ(TryToJoin(1, "some").status().code(), absl::StatusCode::kFailedPrecondition);
  {
    const std::lock_guard lock(mutex);
    members.erase(members.begin() + 7);
  }
  auto last = TryToJoin(1, "some");
  while (!last.ok()) last = TryToJoin(1, "some");
  EXPECT_EQ((*last)->seat().slot, 7);
  done = true;
  listens.join();
}

TEST_F(RendezvousTest, AnotherKeyIsRefusedInOneLine) {
  const std::string other = testing::TempDir() + "/" + "other-key";
  unlink(other.c_str());
  ASSERT_TRUE(sim::ReadOrMakeKey(other).ok());
  const auto refused = sim::CallRendezvous(meeting_.network(), other, kGuard);
  unlink(other.c_str());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(refused.status().message(),
            meeting_.network() + ": the key of " + other +
                " is not the network's: copy that of the computer where it began");
  const auto keyless = sim::CallRendezvous(meeting_.network(), "/nowhere/key", kGuard);
  EXPECT_EQ(keyless.status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RendezvousTest, NobodyThereIsSaidAfterAWhile) {
  meeting_.Stop();
  const auto called = sim::CallRendezvous(meeting_.network(), meeting_.key_file(), 200ms);
  EXPECT_EQ(called.status().code(), absl::StatusCode::kUnavailable);
}

// A caller that does not prove itself is not listened to.
TEST_F(RendezvousTest, NobodyJoinsWithoutAProof) {
  sim::Stream stream = Connect();
  sim::Caller caller(meeting_.key(), sim::Purpose::kMember);
  stream.Say(caller.hello());
  std::span<const std::byte> challenge;
  ASSERT_TRUE(sim::Await(stream, challenge, kGuard));
  stream.Release();
  stream.Say(sim::Proof{});
  stream.Say(Control{});
  ExpectClosed(stream);
  EXPECT_EQ(Join()->seat().slot, 0);
}

// Silent callers keep nobody out: of as many as there may be, a newer one displaces the oldest
// before the time is up that each has.
TEST_F(RendezvousTest, SilentStrangersAreDisplaced) {
  // The rendezvous may have no processor for seconds: then it is asked once more.
  bool displaced = false;
  for (int attempt = 0; attempt < 5 && !displaced; ++attempt) {
    std::vector<sim::Stream> strangers;
    const auto begun = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < sim::kMachines + 1; ++i) strangers.push_back(Connect());
    std::span<const std::byte> message;
    EXPECT_FALSE(sim::Await(strangers.front(), message, 4s));
    displaced = strangers.front().ended() && std::chrono::steady_clock::now() - begun < 5s;
  }
  EXPECT_TRUE(displaced);
  EXPECT_EQ(Join()->seat().slot, 0);
}

TEST_F(RendezvousTest, NonsenseIsSurvived) {
  for (std::uint64_t life = 0; life < 100; ++life) {
    sim::Stream stream = Connect();
    pollfd connected{.fd = stream.fd(), .events = POLLOUT, .revents = 0};
    poll(&connected, 1, 1000);
    std::vector<std::uint8_t> bytes(1 + sim::Combine(life, 0) % 300);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>(sim::Combine(life, i));
    }
    if (life % 3 == 0) {  // a length that can be: what follows is no Hello
      const std::uint32_t length = sizeof(sim::Hello);
      bytes.resize(sizeof(length) + length);
      std::memcpy(bytes.data(), &length, sizeof(length));
    }
    if (life % 3 == 1 && bytes.size() > 4) {  // cut in the middle
      const std::uint32_t length = 60;
      std::memcpy(bytes.data(), &length, sizeof(length));
      bytes.resize(std::min<std::size_t>(bytes.size(), 30));
    }
    EXPECT_GT(send(stream.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
  }
  // A member that sends nonsense is dropped, and the others stay.
  const auto member = Join();
  auto called = sim::CallRendezvous(meeting_.network(), meeting_.key_file(), kGuard);
  ASSERT_TRUE(called.ok());
  Control nonsense;
  nonsense.type = static_cast<ControlType>(77);
  called->stream.Say(nonsense);
  ExpectClosed(called->stream);
  const auto other = Join();
  EXPECT_EQ(other->seat().slot, 1);
}

}  // namespace
}  // namespace drydock::sim_testing
