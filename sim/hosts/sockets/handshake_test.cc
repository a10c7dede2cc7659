#include "drydock/sim/hosts/sockets/handshake.h"

#include <cstddef>
#include <optional>
#include <span>

#include "drydock/sim/hosts/sockets/key.h"
#include "gtest/gtest.h"

namespace drydock::sim {
namespace {

template <typename T>
std::span<const std::byte> Bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

Key KeyOf(int value) {
  Key key{};
  key[15] = static_cast<std::byte>(value);
  return key;
}

const Seat kFrom{.network = 7, .incarnation = 3, .slot = 1};
const Seat kTo{.network = 7, .incarnation = 4, .slot = 2};

TEST(HandshakeTest, WithOneKeyBothBelieve) {
  const Caller caller(KeyOf(1), Purpose::kPeer, kFrom, kTo);
  Called called(KeyOf(1));
  const std::optional<Challenge> challenge = called.Greet(Bytes(caller.hello()));
  ASSERT_TRUE(challenge.has_value());
  const std::optional<Proof> proof = caller.Answer(Bytes(*challenge));
  ASSERT_TRUE(proof.has_value());
  EXPECT_TRUE(called.Believes(Bytes(*proof)));
  EXPECT_EQ(called.hello().from, kFrom);
  EXPECT_EQ(called.hello().to, kTo);
  EXPECT_EQ(called.hello().purpose, Purpose::kPeer);
}

TEST(HandshakeTest, WithTwoKeysNeitherDoes) {
  const Caller caller(KeyOf(1), Purpose::kMember);
  Called called(KeyOf(2));
  const std::optional<Challenge> challenge = called.Greet(Bytes(caller.hello()));
  ASSERT_TRUE(challenge.has_value());
  EXPECT_FALSE(caller.Answer(Bytes(*challenge)).has_value());
  // Not even the proof that is right for the other key.
  const Caller other(KeyOf(2), Purpose::kMember);
  EXPECT_FALSE(other.Answer(Bytes(*challenge)).has_value());
  EXPECT_FALSE(called.Believes(Bytes(Proof{})));
}

TEST(HandshakeTest, WhatWasHeardBeforeProvesNothing) {
  const Caller caller(KeyOf(1), Purpose::kPeer, kFrom, kTo);
  Called first(KeyOf(1));
  const Challenge challenge = *first.Greet(Bytes(caller.hello()));
  const Proof proof = *caller.Answer(Bytes(challenge));
  Called second(KeyOf(1));
  ASSERT_TRUE(second.Greet(Bytes(caller.hello())).has_value());
  EXPECT_FALSE(second.Believes(Bytes(proof)));
  // The callee's own proof is not the caller's.
  EXPECT_FALSE(first.Believes(Bytes(challenge.mac)));
}

TEST(HandshakeTest, EveryByteOfAHelloIsProven) {
  const Caller caller(KeyOf(1), Purpose::kPeer, kFrom, kTo);
  for (std::size_t at = 0; at < sizeof(Hello); ++at) {
    Hello changed = caller.hello();
    reinterpret_cast<std::byte*>(&changed)[at] ^= std::byte{1};
    Called called(KeyOf(1));
    const std::optional<Challenge> challenge = called.Greet(Bytes(changed));
    if (!challenge.has_value()) continue;  // another version
    EXPECT_FALSE(caller.Answer(Bytes(*challenge)).has_value()) << at;
  }
}

TEST(HandshakeTest, OtherSizesAreNoMessages) {
  const Caller caller(KeyOf(1), Purpose::kMember);
  Called called(KeyOf(1));
  EXPECT_FALSE(called.Greet(Bytes(caller.hello()).first(63)).has_value());
  EXPECT_FALSE(called.Greet({}).has_value());
  const Challenge challenge = *called.Greet(Bytes(caller.hello()));
  EXPECT_FALSE(caller.Answer(Bytes(challenge).first(31)).has_value());
  EXPECT_FALSE(called.Believes({}));
}

}  // namespace
}  // namespace drydock::sim
