#include "drydock/sim/hosts/testing/workout.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "drydock/coro/keyed_bytes.h"
#include "drydock/sim/random.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

namespace efa = fabric::efa_queue;

constexpr std::size_t kLanes = 24;
constexpr std::size_t kLaneBytes = 64 << 10;
constexpr std::uint32_t kLongestMessage = 8928;
constexpr std::uint32_t kLongestTransfer = 30000;
// In the server's memory: lanes for writes; what is read, which never changes; receives.
constexpr std::size_t kReadAt = kLanes * kLaneBytes;
constexpr std::size_t kReadBytes = 256 << 10;
constexpr std::uint64_t kReadSeed = 77;
constexpr std::size_t kReceiveAt = kReadAt + kReadBytes;
constexpr std::size_t kReceives = 48;
constexpr std::size_t kReceiveBytes = 16 << 10;
static_assert(kReceiveAt + kReceives * kReceiveBytes <= kWorkoutBytes);
static_assert(2 * kLanes * kLaneBytes <= kWorkoutBytes);

// Short ones as often as long ones.
std::uint32_t LengthOf(std::uint64_t word, std::uint32_t most) {
  const std::uint64_t limit = word % 3 == 0 ? 64 : word % 3 == 1 ? 5000 : most;
  return 8 + static_cast<std::uint32_t>((word >> 8) % (std::min<std::uint64_t>(limit, most) - 7));
}

struct Lane {
  std::uint16_t request = 0;  // 0: idle
  bool reads_back = false;
  efa::Operation operation = efa::Operation::kSend;
  std::uint32_t length = 0;
  std::uint64_t pattern = 0;
  std::size_t remote = 0;
};

class Workout {
 public:
  Workout(Station& station, const StationAddress& peer, std::uint64_t seed)
      : station_(station), peer_(peer), seed_(seed) {}

  WorkoutTally Run(std::uint64_t operations) {
    while (finished_ < operations && !testing::Test::HasFailure()) {
      for (std::size_t i = 0; i < kLanes && begun_ < operations; ++i) {
        if (lanes_[i].request == 0) Begin(i);
      }
      const efa::Completion completion = station_.Wait();
      EXPECT_EQ(completion.queue, efa::QueueType::kSend) << "seed " << seed_;
      Finish(completion);
    }
    return tally_;
  }

 private:
  std::size_t BufferOf(std::size_t lane) const { return lane * kLaneBytes; }
  std::size_t SecondOf(std::size_t lane) const { return (kLanes + lane) * kLaneBytes; }

  void Begin(std::size_t number) {
    const std::uint64_t word = sim::Combine(seed_, begun_++);
    Lane& lane = lanes_[number];
    lane = Lane{};
    lane.pattern = sim::Combine(word, 1);
    StationWork work;
    switch (word % 4) {
      case 0:
      case 1:
        lane.operation = efa::Operation::kSend;
        lane.length = LengthOf(word >> 8, kLongestMessage);
        break;
      case 2:
        lane.operation = efa::Operation::kWrite;
        lane.length = LengthOf(word >> 8, kLongestTransfer);
        lane.remote = BufferOf(number) + (word >> 40) % 1000;
        if ((word >> 32) % 3 == 0) work.immediate = static_cast<std::uint32_t>(word);
        break;
      default:
        lane.operation = efa::Operation::kRead;
        lane.length = LengthOf(word >> 8, kLongestTransfer);
        lane.remote = kReadAt + (word >> 40) % (kReadBytes - lane.length);
    }
    if (lane.operation == efa::Operation::kSend) ++tally_.messages;
    if (work.immediate.has_value()) ++tally_.immediates;
    if (lane.operation != efa::Operation::kRead) Fill(number, lane);
    work.operation = lane.operation;
    work.local = BufferOf(number);
    work.remote = lane.remote;
    work.length = lane.length;
    lane.request = station_.Post(peer_, work);
  }

  // The first 8 bytes of a message decide the others.
  void Fill(std::size_t number, const Lane& lane) {
    const std::span<std::byte> bytes = station_.Bytes(BufferOf(number), lane.length);
    coro::FillKeyed(bytes.subspan(8), lane.pattern);
    std::memcpy(bytes.data(), &lane.pattern, 8);
  }

  void Finish(const efa::Completion& completion) {
    const auto lane = std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& candidate) {
      return candidate.request != 0 && candidate.request == completion.request_id;
    });
    ASSERT_NE(lane, lanes_.end()) << "seed " << seed_;
    ASSERT_EQ(completion.status, efa::CompletionStatus::kOk)
        << "seed " << seed_ << ", operation " << static_cast<int>(lane->operation) << ", "
        << lane->length << " bytes";
    const auto number = static_cast<std::size_t>(lane - lanes_.begin());
    if (lane->operation == efa::Operation::kWrite && !lane->reads_back) {
      lane->reads_back = true;
      lane->request = station_.Post(peer_, {.operation = efa::Operation::kRead,
                                            .local = SecondOf(number),
                                            .remote = lane->remote,
                                            .length = lane->length});
      return;
    }
    if (lane->reads_back) {
      ASSERT_EQ(0, std::memcmp(station_.Bytes(BufferOf(number), lane->length).data(),
                               station_.Bytes(SecondOf(number), lane->length).data(), lane->length))
          << "seed " << seed_;
    } else if (lane->operation == efa::Operation::kRead) {
      if (constants_.empty()) {
        constants_.resize(kReadBytes);
        coro::FillKeyed(constants_, kReadSeed);
      }
      ASSERT_EQ(0, std::memcmp(station_.Bytes(BufferOf(number), lane->length).data(),
                               constants_.data() + (lane->remote - kReadAt), lane->length))
          << "seed " << seed_;
    }
    lane->request = 0;
    ++finished_;
  }

  Station& station_;
  const StationAddress peer_;
  const std::uint64_t seed_;
  std::vector<Lane> lanes_{kLanes};
  std::vector<std::byte> constants_;
  std::uint64_t begun_ = 0;
  std::uint64_t finished_ = 0;
  WorkoutTally tally_;
};

void PostReceiveNumber(Station& station, std::uint16_t number) {
  station.PostReceive(kReceiveAt + number * kReceiveBytes, kReceiveBytes, number);
}

}  // namespace

WorkoutTally RunWorkout(Station& station, const StationAddress& peer, std::uint64_t operations,
                        std::uint64_t seed) {
  return Workout(station, peer, seed).Run(operations);
}

void PrepareToServe(Station& station) {
  coro::FillKeyed(station.Bytes(kReadAt, kReadBytes), kReadSeed);
  for (std::uint16_t i = 0; i < kReceives; ++i) PostReceiveNumber(station, i);
}

WorkoutTally ServeWorkout(Station& station, const std::function<bool(const WorkoutTally&)>& done) {
  WorkoutTally tally;
  while (!done(tally) && !testing::Test::HasFailure()) {
    const std::optional<efa::Completion> completion = station.Poll();
    if (!completion.has_value()) {
      std::this_thread::yield();
      continue;
    }
    EXPECT_EQ(completion->status, efa::CompletionStatus::kOk);
    if (completion->operation == efa::Operation::kWrite) {
      ++tally.immediates;
      continue;
    }
    ++tally.messages;
    const auto number = static_cast<std::uint16_t>(completion->request_id);
    const std::span<std::byte> bytes =
        station.Bytes(kReceiveAt + number * kReceiveBytes, completion->length);
    std::uint64_t pattern = 0;
    std::memcpy(&pattern, bytes.data(), 8);
    EXPECT_TRUE(coro::HoldsKeyed(bytes.subspan(8), pattern)) << "message " << tally.messages;
    PostReceiveNumber(station, number);
  }
  return tally;
}

}  // namespace drydock::sim_testing
