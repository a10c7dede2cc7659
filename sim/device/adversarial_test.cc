// Programs that are wrong on EFA, and their corrected twins. On the default profile each wrong one
// must fail within 100 seeds, and each right one must pass on all of them.

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drydock/sim/checks/checks.h"
#include "drydock/sim/testing/lab.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using fabric::Completion;
using fabric::ErrorCode;
using fabric::OperationKind;

constexpr std::uint64_t kSeeds = 100;
// The time of one look at a byte of memory, in a loop.
constexpr coro::Duration kGlance = 50ns;

// A program on two machines; says whether its outcome is right.
using Program = std::function<bool(Lab& lab, Side& a, Side& b)>;

std::vector<std::uint64_t> SeedsOnWhichItFails(const Program& program) {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Lab lab(seed);
    Side& a = lab.Add("a");
    Side& b = lab.Add("b");
    lab.Introduce();
    if (!program(lab, a, b)) {
      seeds.push_back(seed);
      lab.world().checks().TakeFindings();  // of a right one, every finding fails the test
    }
  }
  return seeds;
}

void ExpectWrong(const Program& program) {
  const std::vector<std::uint64_t> seeds = SeedsOnWhichItFails(program);
  ASSERT_FALSE(seeds.empty()) << "the program is wrong, and never fails";
  std::cout << "fails on " << seeds.size() << " of " << kSeeds << " seeds, first on " << seeds[0]
            << "\n";
}

void ExpectRight(const Program& program) {
  for (const std::uint64_t seed : SeedsOnWhichItFails(program)) {
    ADD_FAILURE() << "the program is right, and fails on seed " << seed;
  }
}

// Looks at memory until `seen`.
void Glance(Lab& lab, const std::function<bool()>& seen) {
  const coro::Time deadline = lab.world().Now() + 1s;
  while (!seen()) {
    ASSERT_LT(lab.world().Now(), deadline) << "nothing came";
    lab.world().timeline().RunFor(kGlance);
  }
}

ErrorCode Post(Side& a, Side& b, std::size_t from, std::size_t to, std::size_t length,
               std::uint64_t context, std::optional<std::uint32_t> immediate = std::nullopt) {
  fabric::WriteRequest write = a.WriteTo(b, 0, 0, context);
  write.source = a.Local(from, length);
  write.target = b.Remote(to);
  write.immediate = immediate;
  return a.endpoint->Write(write);
}

// The same where there is room: a program's mistake is never that it could not post.
void Write(Side& a, Side& b, std::size_t from, std::size_t to, std::size_t length,
           std::uint64_t context, std::optional<std::uint32_t> immediate = std::nullopt) {
  EXPECT_EQ(Post(a, b, from, to, length, context, immediate), ErrorCode::kOk);
}
void Receive(Side& b, std::size_t offset, std::size_t length, std::uint64_t context) {
  EXPECT_EQ(b.endpoint->Recv(b.RecvAt(offset, length, context)), ErrorCode::kOk);
}
void Send(Side& a, Side& b, std::size_t offset, std::size_t length, std::uint64_t context,
          std::optional<std::uint32_t> immediate = std::nullopt) {
  fabric::SendRequest send = a.SendTo(b, offset, length, context);
  send.immediate = immediate;
  EXPECT_EQ(a.endpoint->Send(send), ErrorCode::kOk);
}
void ExpectEnd(Lab& lab, Side& side, std::uint64_t context) {
  EXPECT_TRUE(lab.Take(side, context).ok());
}

// ---- The last byte of a buffer says that all of it is there ----

class LastByteTest : public ::testing::TestWithParam<std::size_t> {};

// One packet and less, and several.
INSTANTIATE_TEST_SUITE_P(Bytes, LastByteTest,
                         ::testing::Values(2, 64, 100, 1000, 8928, 8929, 60000),
                         ::testing::PrintToStringParamName());

TEST_P(LastByteTest, PollingItIsWrong) {
  const std::size_t length = GetParam();
  ExpectWrong([&](Lab& lab, Side& a, Side& b) {
    Fill(a.Bytes(0, length), 1);
    Write(a, b, 0, 0, length, 1);
    Glance(lab, [&] { return !IsZero(b.Bytes(length - 1, 1)); });
    return Holds(b.Bytes(0, length), 1);
  });
}

TEST_P(LastByteTest, WaitingForTheImmediateIsRight) {
  const std::size_t length = GetParam();
  ExpectRight([&](Lab& lab, Side& a, Side& b) {
    Fill(a.Bytes(0, length), 1);
    Write(a, b, 0, 0, length, 1, 7);
    EXPECT_EQ(lab.TakeNameless(b).immediate, 7u);
    return Holds(b.Bytes(0, length), 1);
  });
}

// The same of a message, which is at most one packet.
class LastByteOfAMessageTest : public ::testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Bytes, LastByteOfAMessageTest, ::testing::Values(2, 64, 100, 1000, 8928),
                         ::testing::PrintToStringParamName());

TEST_P(LastByteOfAMessageTest, PollingItIsWrong) {
  const std::size_t length = GetParam();
  ExpectWrong([&](Lab& lab, Side& a, Side& b) {
    Fill(a.Bytes(0, length), 1);
    Receive(b, 0, length, 1);
    Send(a, b, 0, length, 1);
    Glance(lab, [&] { return !IsZero(b.Bytes(length - 1, 1)); });
    return Holds(b.Bytes(0, length), 1);
  });
}

TEST_P(LastByteOfAMessageTest, WaitingForTheReceiveIsRight) {
  const std::size_t length = GetParam();
  ExpectRight([&](Lab& lab, Side& a, Side& b) {
    Fill(a.Bytes(0, length), 1);
    Receive(b, 0, length, 1);
    Send(a, b, 0, length, 1);
    ExpectEnd(lab, b, 1);
    return Holds(b.Bytes(0, length), 1);
  });
}

// And of a read, by its initiator.
TEST_P(LastByteTest, PollingTheTargetOfAReadIsWrong) {
  const std::size_t length = GetParam();
  ExpectWrong([&](Lab& lab, Side& a, Side& b) {
    Fill(b.Bytes(0, length), 1);
    EXPECT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, length, 1)), ErrorCode::kOk);
    Glance(lab, [&] { return !IsZero(a.Bytes(length - 1, 1)); });
    return Holds(a.Bytes(0, length), 1);
  });
}

TEST_P(LastByteTest, WaitingForTheReadIsRight) {
  const std::size_t length = GetParam();
  ExpectRight([&](Lab& lab, Side& a, Side& b) {
    Fill(b.Bytes(0, length), 1);
    EXPECT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, length, 1)), ErrorCode::kOk);
    ExpectEnd(lab, a, 1);
    return Holds(a.Bytes(0, length), 1);
  });
}

// ---- The immediate of the last write says that all of them are there ----

constexpr std::size_t kWrites = 10;
constexpr std::size_t kPage = 16384;

void PostAll(Side& a, Side& b, bool every_immediate) {
  for (std::size_t i = 0; i < kWrites; ++i) {
    Fill(a.Bytes(i * kPage, kPage), i + 1);
    const bool told = every_immediate || i + 1 == kWrites;
    const auto immediate = static_cast<std::uint32_t>(i);
    Write(a, b, i * kPage, i * kPage, kPage, i + 1, told ? std::optional(immediate) : std::nullopt);
  }
}

bool AllThere(Side& b) {
  for (std::size_t i = 0; i < kWrites; ++i) {
    if (!Holds(b.Bytes(i * kPage, kPage), i + 1)) return false;
  }
  return true;
}

TEST(LastImmediateTest, TrustingItIsWrong) {
  ExpectWrong([](Lab& lab, Side& a, Side& b) {
    PostAll(a, b, false);
    ExpectEnd(lab, b, 0);
    return AllThere(b);
  });
}

TEST(LastImmediateTest, TrustingTheOneThatWasPostedLastIsWrong) {
  ExpectWrong([](Lab& lab, Side& a, Side& b) {
    PostAll(a, b, true);
    while (lab.TakeNameless(b).immediate != kWrites - 1) continue;
    return AllThere(b);
  });
}

TEST(LastImmediateTest, CountingThemIsRight) {
  ExpectRight([](Lab& lab, Side& a, Side& b) {
    PostAll(a, b, true);
    std::set<std::uint32_t> told;
    for (std::size_t i = 0; i < kWrites; ++i) told.insert(*lab.TakeNameless(b).immediate);
    return told.size() == kWrites && AllThere(b);
  });
}

// ---- A flag behind the data ----

TEST(FlagTest, WritingItBehindTheDataIsWrong) {
  ExpectWrong([](Lab& lab, Side& a, Side& b) {
    Fill(a.Bytes(0, kPage), 1);
    a.memory()[kPage] = std::byte{1};
    Write(a, b, 0, 0, kPage, 1);
    Write(a, b, kPage, kPage, 1, 2);
    const std::byte& flag = b.memory()[kPage];
    Glance(lab, [&] { return flag != std::byte{0}; });
    return Holds(b.Bytes(0, kPage), 1);
  });
}

TEST(FlagTest, WritingItAfterTheCompletionOfTheDataIsRight) {
  ExpectRight([](Lab& lab, Side& a, Side& b) {
    Fill(a.Bytes(0, kPage), 1);
    a.memory()[kPage] = std::byte{1};
    Write(a, b, 0, 0, kPage, 1);
    ExpectEnd(lab, a, 1);
    Write(a, b, kPage, kPage, 1, 2);
    const std::byte& flag = b.memory()[kPage];
    Glance(lab, [&] { return flag != std::byte{0}; });
    return Holds(b.Bytes(0, kPage), 1);
  });
}

TEST(FlagTest, MessageBehindTheDataIsWrong) {
  ExpectWrong([](Lab& lab, Side& a, Side& b) {
    Fill(a.Bytes(0, kPage), 1);
    Receive(b, kPage, 64, 1);
    Write(a, b, 0, 0, kPage, 1);
    Send(a, b, kPage, 64, 2);
    ExpectEnd(lab, b, 1);
    return Holds(b.Bytes(0, kPage), 1);
  });
}

// A flag that is set back as soon as it was seen, before anything said that its write is over: the
// bytes may land again.
constexpr int kRounds = 40;

TEST(FlagTest, SettingItBackBeforeTheCompletionIsWrong) {
  ExpectWrong([](Lab& lab, Side& a, Side& b) {
    std::byte& flag = b.memory()[0];
    a.memory()[0] = std::byte{1};
    for (int round = 0; round < kRounds; ++round) {
      Write(a, b, 0, 0, 1, 1);
      Glance(lab, [&] { return flag != std::byte{0}; });
      flag = std::byte{0};
      ExpectEnd(lab, a, 1);
      if (flag != std::byte{0}) return false;  // a message that was never sent
    }
    return true;
  });
}

TEST(FlagTest, SettingItBackAfterTheImmediateIsRight) {
  ExpectRight([](Lab& lab, Side& a, Side& b) {
    std::byte& flag = b.memory()[0];
    a.memory()[0] = std::byte{1};
    for (int round = 0; round < kRounds; ++round) {
      Write(a, b, 0, 0, 1, 1, 5);
      ExpectEnd(lab, b, 0);
      if (flag != std::byte{1}) return false;
      flag = std::byte{0};
      ExpectEnd(lab, a, 1);
      if (flag != std::byte{0}) return false;
    }
    return true;
  });
}

// ---- The source is free after the post ----

bool SendPagesFromOneBuffer(Lab& lab, Side& a, Side& b, bool wait) {
  constexpr std::size_t kBuffer = Side::kBytes - kPage;
  for (std::size_t i = 0; i < kWrites; ++i) {
    Fill(a.Bytes(kBuffer, kPage), i + 1);
    Write(a, b, kBuffer, i * kPage, kPage, i + 1);
    if (wait) ExpectEnd(lab, a, i + 1);
  }
  for (std::size_t i = 0; !wait && i < kWrites; ++i) ExpectEnd(lab, a, i + 1);
  return AllThere(b);
}

TEST(SourceReuseTest, ReusingItAfterThePostIsWrong) {
  ExpectWrong([](Lab& lab, Side& a, Side& b) { return SendPagesFromOneBuffer(lab, a, b, false); });
}

TEST(SourceReuseTest, ReusingItAfterTheCompletionIsRight) {
  ExpectRight([](Lab& lab, Side& a, Side& b) { return SendPagesFromOneBuffer(lab, a, b, true); });
}

// Small messages are taken during the post, those of one byte more are not.
bool SendFromOneBuffer(Lab& lab, Side& a, Side& b, std::size_t length) {
  for (std::uint64_t i = 1; i <= kWrites; ++i) {
    Receive(b, i * 64, length, i);
  }
  for (std::uint64_t i = 1; i <= kWrites; ++i) {
    Fill(a.Bytes(0, length), i);
    Send(a, b, 0, length, i, static_cast<std::uint32_t>(i));
  }
  for (std::uint64_t i = 1; i <= kWrites; ++i) {
    const Completion received = lab.Take(b, i);
    EXPECT_TRUE(received.ok());
    if (!Holds(b.Bytes(i * 64, length), *received.immediate)) return false;
  }
  return true;
}

TEST(SourceReuseTest, ReusingTheSourceOfA33ByteMessageIsWrong) {
  ExpectWrong([](Lab& lab, Side& a, Side& b) { return SendFromOneBuffer(lab, a, b, 33); });
}

TEST(SourceReuseTest, MessageOf32BytesIsTakenDuringThePost) {
  ExpectRight([](Lab& lab, Side& a, Side& b) { return SendFromOneBuffer(lab, a, b, 32); });
}

// ---- Again: try later ----

bool PostMany(Lab& lab, Side& a, Side& b, bool poll) {
  constexpr int kPosts = 300;
  constexpr int kPatience = 10000;  // attempts, a microsecond apart
  for (int i = 0; i < kPosts; ++i) {
    ErrorCode error = Post(a, b, 0, 0, 64, 1);
    for (int attempt = 0; error == ErrorCode::kAgain; ++attempt) {
      if (attempt == kPatience) return false;
      if (poll) lab.Pump();
      lab.world().timeline().RunFor(1us);
      error = Post(a, b, 0, 0, 64, 1);
    }
    EXPECT_EQ(error, ErrorCode::kOk);
  }
  return true;
}

TEST(AgainTest, RetryingWithoutReadingTheQueueIsWrong) {
  ExpectWrong([](Lab& lab, Side& a, Side& b) { return PostMany(lab, a, b, false); });
}

TEST(AgainTest, RetryingWithoutReadingTheQueueIsReported) {
  Lab lab(1);
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  ASSERT_FALSE(PostMany(lab, a, b, false));
  lab.ExpectFinding(sim::Check::kAgainWithoutReading, 10);
}

TEST(AgainTest, ReadingTheQueueAndRetryingIsRight) {
  ExpectRight([](Lab& lab, Side& a, Side& b) { return PostMany(lab, a, b, true); });
}

// ---- Order of messages ----

bool ReceiveNumbers(Lab& lab, Side& a, Side& b, bool look_at_the_number) {
  for (std::uint64_t i = 1; i <= kWrites; ++i) {
    Receive(b, i * 64, 64, i);
  }
  for (std::uint32_t i = 1; i <= kWrites; ++i) {
    Send(a, b, 0, 64, i, i);
  }
  std::array<bool, kWrites + 1> there{};
  for (std::uint64_t i = 1; i <= kWrites; ++i) {
    const std::uint32_t number = *lab.Take(b, i).immediate;
    if (!look_at_the_number && number != i) return false;
    there[number] = true;
  }
  for (std::size_t i = 1; i <= kWrites; ++i) {
    if (!there[i]) return false;
  }
  return true;
}

TEST(MessageOrderTest, RelyingOnItIsWrong) {
  ExpectWrong([](Lab& lab, Side& a, Side& b) { return ReceiveNumbers(lab, a, b, false); });
}

TEST(MessageOrderTest, NumberingThemIsRight) {
  ExpectRight([](Lab& lab, Side& a, Side& b) { return ReceiveNumbers(lab, a, b, true); });
}

// ---- The wrong key ----

TEST(KeyTest, SendingTheLocalKeyToThePeerIsWrong) {
  ExpectWrong([](Lab& lab, Side& a, Side& b) {
    fabric::WriteRequest write = a.WriteTo(b, 0, 64, 1);
    write.target.key = b.region->local_key();
    EXPECT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
    return lab.Take(a, 1).ok();
  });
}

TEST(KeyTest, UsingOnesOwnKeyForThePeersMemoryIsWrong) {
  ExpectWrong([](Lab& lab, Side& a, Side& b) {
    fabric::WriteRequest write = a.WriteTo(b, 0, 64, 1);
    write.target.key = a.region->remote().key;
    EXPECT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
    return lab.Take(a, 1).ok();
  });
}

}  // namespace
}  // namespace drydock::sim_testing
