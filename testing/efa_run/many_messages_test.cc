// Messages by the million between two processes on libfabric's own provider `efa`: every one is
// looked at, memory does not grow, and afterwards no thread works. DRYDOCK_MESSAGES says how many.

#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "drydock/fabric/fabric.h"
#include "drydock/sim/hosts/testing/child_process.h"
#include "drydock/sim/random.h"
#include "drydock/testing/two_processes/provider_node.h"
#include "gtest/gtest.h"

namespace {

using drydock::fabric::Context;
using drydock::fabric::ErrorCode;

constexpr std::size_t kSends = 64;     // under way from each side
constexpr std::size_t kReceives = 96;  // posted by each side
// How many more messages a side sends than it has received: at most twice as many wait at the other
// one. Without such a bound a slower side is buried under what it has no receives for: neither EFA
// nor its provider holds a sender back.
constexpr std::uint64_t kAhead = 256;
constexpr std::size_t kSlotBytes = 8192;
constexpr std::uint64_t kReceive = 1 << 20;  // added to a receive's context
constexpr std::size_t kPatternBytes = 64 << 10;

// Short ones mostly, as in control traffic; some of a packet, some of nearly two.
std::size_t LengthOf(std::uint64_t number) {
  const std::uint64_t word = drydock::sim::Combine(number, 5);
  const std::size_t most = word % 16 == 0 ? kSlotBytes : word % 4 == 0 ? 1024 : 64;
  return 16 + static_cast<std::size_t>((word >> 8) % (most - 15));
}

// Kilobytes of this process's memory that are in RAM.
std::uint64_t ResidentKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// One of the two processes: sends `count` numbered messages and receives as many.
class Correspondent {
 public:
  explicit Correspondent(std::uint64_t count) : count_(count) {
    pattern_.resize(kPatternBytes + kSlotBytes);
    for (std::size_t i = 0; i < pattern_.size(); ++i) {
      pattern_[i] = static_cast<std::byte>(drydock::sim::Combine(i, 9));
    }
    for (std::size_t i = 0; i < kSends; ++i) idle_.push_back(i);
  }

  void Run(drydock::sim_testing::Talk& talk) {
    for (std::size_t i = 0; i < kReceives; ++i) PostReceive(i);
    node_.TellAddress(talk);
    peer_ = node_.HearPeer(talk);
    while ((sent_ < count_ || received_ < count_) && !testing::Test::HasFailure()) {
      while (!idle_.empty() && posted_ < std::min(count_, received_ + kAhead) && PostNext()) {
      }
      ReadQueue();
      if (early_kilobytes_ == 0 && received_ >= count_ / 2) early_kilobytes_ = ResidentKilobytes();
    }
    late_kilobytes_ = ResidentKilobytes();
    talk.Say(true);  // neither closes while the other still waits
    talk.Hear<bool>();
  }

  // What it has grown by in its second half: the provider takes its pools when it first needs them.
  std::int64_t GrownKilobytes() const {
    return static_cast<std::int64_t>(late_kilobytes_) - static_cast<std::int64_t>(early_kilobytes_);
  }

 private:
  drydock::fabric::LocalBuffer Slot(std::size_t number, std::size_t length) const {
    return node_.region->Local(number * kSlotBytes, length);
  }

  void PostReceive(std::size_t number) {
    ASSERT_EQ(
        node_.nic.endpoint->Recv(drydock::fabric::RecvRequest{
            .buffer = Slot(kSends + number, kSlotBytes), .context = Context{kReceive + number}}),
        ErrorCode::kOk);
  }

  std::span<const std::byte> PatternOf(std::uint64_t number, std::size_t length) const {
    return std::span(pattern_).subspan(drydock::sim::Combine(number, 3) % kPatternBytes, length);
  }

  // False: the queue is full.
  bool PostNext() {
    const std::size_t slot = idle_.back();
    const std::size_t length = LengthOf(posted_);
    const drydock::fabric::LocalBuffer buffer = Slot(slot, length);
    const std::span<const std::byte> body = PatternOf(posted_, length - sizeof(posted_));
    std::memcpy(buffer.data, &posted_, sizeof(posted_));
    std::copy(body.begin(), body.end(), buffer.data + sizeof(posted_));
    const ErrorCode error = node_.nic.endpoint->Send(
        drydock::fabric::SendRequest{.buffer = buffer, .peer = peer_, .context = Context{slot}});
    if (error == ErrorCode::kAgain) return false;
    EXPECT_EQ(error, ErrorCode::kOk);
    idle_.pop_back();
    ++posted_;
    return error == ErrorCode::kOk;
  }

  void ReadQueue() {
    std::array<drydock::fabric::Completion, 32> entries;
    const drydock::fabric::ReadResult read = node_.nic.queue->Read(entries);
    ASSERT_EQ(read.error, ErrorCode::kOk);
    for (const drydock::fabric::Completion& completion : std::span(entries).first(read.count)) {
      ASSERT_TRUE(completion.ok()) << node_.nic.queue->ErrorText(completion);
      const auto context = static_cast<std::uint64_t>(completion.context.value());
      if (context < kReceive) {
        idle_.push_back(context);
        ++sent_;
      } else {
        Verify(context - kReceive, completion.length_bytes);
        PostReceive(context - kReceive);
      }
    }
  }

  // Messages of one sender arrive in order: the next one is expected, with its own bytes.
  void Verify(std::size_t number, std::uint64_t length) {
    const drydock::fabric::LocalBuffer buffer = Slot(kSends + number, kSlotBytes);
    std::uint64_t which = 0;
    std::memcpy(&which, buffer.data, sizeof(which));
    ASSERT_EQ(which, received_);
    ASSERT_EQ(length, LengthOf(which));
    const std::span<const std::byte> body = PatternOf(which, length - sizeof(which));
    ASSERT_TRUE(std::equal(body.begin(), body.end(), buffer.data + sizeof(which)))
        << "message " << which;
    ++received_;
  }

  const std::uint64_t count_;
  drydock::two_processes::ProviderNode node_{(kSends + kReceives) * kSlotBytes};
  drydock::fabric::Peer peer_{};
  std::vector<std::byte> pattern_;
  std::vector<std::size_t> idle_;  // slots of sends
  std::uint64_t posted_ = 0, sent_ = 0, received_ = 0;
  std::uint64_t early_kilobytes_ = 0, late_kilobytes_ = 0;
};

// What both sides check of themselves.
void Correspond(std::uint64_t count, drydock::sim_testing::Talk& talk) {
  Correspondent correspondent(count);
  correspondent.Run(talk);
  // The provider's pools may grow by as much as may wait.
  EXPECT_LT(correspondent.GrownKilobytes(), 16 << 10);

  // The device goes on without the program, and has nothing to do: nor has its thread.
  // That of one second: a virtual machine counts time that others took as well.
  double busy = 1;
  for (int second = 0; second < 20 && busy >= 0.05; ++second) {
    const double before = ProcessorSeconds();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    busy = ProcessorSeconds() - before;
  }
  EXPECT_LT(busy, 0.05);
  std::cout << count << " messages each way; grown by " << correspondent.GrownKilobytes()
            << " KiB; " << busy * 1000 << " ms of processor time in an idle second" << std::endl;
  talk.Say(true);
  talk.Hear<bool>();
}

TEST(ManyMessagesTest, EveryOneArrivesOnceAndInOrder) {
  const char* asked = std::getenv("DRYDOCK_MESSAGES");
  const std::uint64_t count = asked == nullptr ? 100000 : std::strtoull(asked, nullptr, 10);
  ASSERT_GE(count, 1000u) << "DRYDOCK_MESSAGES";
  drydock::sim_testing::ChildProcess child(
      [count](drydock::sim_testing::Talk& talk) { Correspond(count / 2, talk); });
  Correspond(count / 2, child.talk());
  EXPECT_EQ(child.Wait(), 0);
}

}  // namespace
