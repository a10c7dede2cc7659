// One machine's channel to another, of which the test is the sockets.

#include "drydock/sim/hosts/sockets/socket_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "drydock/sim/hosts/sockets/call.h"
#include "drydock/sim/hosts/sockets/handshake.h"
#include "drydock/sim/hosts/sockets/socket.h"
#include "drydock/sim/hosts/sockets/stream.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLongest = 4096;
constexpr coro::Duration kGuard = 100s;
const Key kKey{std::byte{7}};
const Seat kUs{.network = 1, .incarnation = 2, .slot = 3};
const Seat kThem{.network = 1, .incarnation = 4, .slot = 5};

class SocketChannelTest : public testing::Test {
 protected:
  SocketChannelTest() : listening_(*Socket::Bind(*SocketAddress::Of("127.0.0.1", 0))) {
    EXPECT_TRUE(listening_.Listen().ok());
    channel_ = std::make_unique<SocketChannel>(
        SocketChannel::Ends{
            .key = kKey, .us = kUs, .them = kThem, .address = listening_.LocalAddress()},
        [this](int fd) { dialed_ = fd; }, [this] { gone_ = true; });
  }

  // A connection to a socket that listens, and its other end.
  static std::pair<Stream, Stream> Pair() {
    Socket listening = *Socket::Bind(*SocketAddress::Of("127.0.0.1", 0));
    EXPECT_TRUE(listening.Listen().ok());
    Socket caller = *Socket::Dial(listening.LocalAddress());
    AwaitInput(listening.fd());
    return {Stream(std::move(caller), kLongest, kLongest),
            Stream(listening.Accept(), kLongest, kLongest)};
  }
  static void AwaitInput(int fd) {
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&readable, 1, kGuard / 1ms), 1);
  }
  // The channel says something for the first time: their end of the connection that it makes, with
  // everything proven that is to be.
  Stream Open(const Key& key) {
    EXPECT_EQ(channel_->Reserve(8), nullptr);  // not before they are known
    AwaitInput(listening_.fd());
    Stream theirs(listening_.Accept(), kLongest, kLongest);
    Called called(key);
    std::span<const std::byte> message;
    EXPECT_TRUE(Await(theirs, message, kGuard));
    const std::optional<Challenge> challenge = called.Greet(message);
    theirs.Release();
    EXPECT_EQ(called.hello().from, kUs);
    EXPECT_EQ(called.hello().to, kThem);
    theirs.Say(*challenge);
    AwaitInput(dialed_);
    channel_->OnOut();
    if (channel_->state() != Channel::State::kSound) return theirs;
    EXPECT_TRUE(Await(theirs, message, kGuard));
    EXPECT_TRUE(called.Believes(message));
    theirs.Release();
    return theirs;
  }
  void Put(std::uint64_t word) {
    std::byte* const room = channel_->Reserve(sizeof(word));
    ASSERT_NE(room, nullptr);
    std::memcpy(room, &word, sizeof(word));
    channel_->Publish();
  }
  std::optional<std::uint64_t> Take() {
    std::span<const std::byte> message;
    if (!channel_->Next(message)) return std::nullopt;
    std::uint64_t word = 0;
    EXPECT_TRUE(Read(message, word));
    channel_->Release();
    return word;
  }

  Socket listening_;
  int dialed_ = -1;
  bool gone_ = false;
  std::unique_ptr<SocketChannel> channel_;
};

TEST_F(SocketChannelTest, MessagesLeaveInOrder) {
  EXPECT_TRUE(channel_->drained());
  Stream theirs = Open(kKey);
  for (std::uint64_t i = 0; i < 100; ++i) Put(i);
  for (std::uint64_t i = 0; i < 100; ++i) {
    std::span<const std::byte> message;
    ASSERT_TRUE(Await(theirs, message, kGuard));
    std::uint64_t word = 0;
    EXPECT_TRUE(Read(message, word));
    EXPECT_EQ(word, i);
    theirs.Release();
  }
  while (!channel_->drained()) {
  }
  EXPECT_EQ(channel_->state(), Channel::State::kSound);
  channel_.reset();
  EXPECT_TRUE(gone_);
}

TEST_F(SocketChannelTest, WhoHasAnotherKeyIsToldNothing) {
  Stream theirs = Open(Key{std::byte{8}});
  EXPECT_EQ(channel_->state(), Channel::State::kEnded);
  EXPECT_EQ(channel_->Reserve(8), nullptr);
}

TEST_F(SocketChannelTest, NobodyListening) {
  listening_ = Socket();
  EXPECT_EQ(channel_->Reserve(8), nullptr);
  for (int i = 0; i < kGuard / 10ms && channel_->state() == Channel::State::kSound; ++i) {
    poll(nullptr, 0, 10);
    if (dialed_ >= 0) channel_->OnOut();
  }
  EXPECT_EQ(channel_->state(), Channel::State::kEnded);
}

// A process that ends closes both connections; its messages on one count, whichever ends first.
TEST_F(SocketChannelTest, WhatWasSaidBeforeTheEndIsHeard) {
  auto theirs = std::make_unique<Stream>(Open(kKey));
  auto [caller, called] = Pair();
  ASSERT_TRUE(channel_->Adopt(called));
  auto speaks = std::make_unique<Stream>(std::move(caller));
  speaks->Say(std::uint64_t{77});
  theirs.reset();
  AwaitInput(dialed_);
  channel_->OnOut();
  EXPECT_EQ(channel_->state(), Channel::State::kSound);
  AwaitInput(channel_->in_fd());
  channel_->OnIn();
  EXPECT_EQ(Take(), 77u);
  EXPECT_TRUE(channel_->open_in());
  speaks.reset();
  AwaitInput(channel_->in_fd());
  channel_->OnIn();
  EXPECT_FALSE(channel_->open_in());
  EXPECT_EQ(channel_->state(), Channel::State::kEnded);
}

TEST_F(SocketChannelTest, ASecondConnectionIsOfALaterLife) {
  auto first = Pair();
  ASSERT_TRUE(channel_->Adopt(first.second));
  auto second = Pair();
  EXPECT_FALSE(channel_->Adopt(second.second));
  EXPECT_EQ(channel_->state(), Channel::State::kEnded);
  EXPECT_TRUE(second.second.socket().valid());  // it is the next channel's
}

TEST_F(SocketChannelTest, NonsenseIsGarbage) {
  auto pair = Pair();
  ASSERT_TRUE(channel_->Adopt(pair.second));
  const std::uint32_t length = kLongest + 1;
  ASSERT_EQ(send(pair.first.fd(), &length, sizeof(length), MSG_NOSIGNAL), 4);
  AwaitInput(channel_->in_fd());
  channel_->OnIn();
  EXPECT_EQ(Take(), std::nullopt);
  EXPECT_EQ(channel_->state(), Channel::State::kGarbage);
}

// Events of a channel that has gone may still come.
TEST_F(SocketChannelTest, EventsOfNoConnectionAreNothing) {
  channel_->OnOut();
  channel_->OnIn();
  EXPECT_EQ(channel_->state(), Channel::State::kSound);
}

}  // namespace
}  // namespace drydock::sim
