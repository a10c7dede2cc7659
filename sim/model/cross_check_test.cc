// The predictor calculates what the simulator plays through, packet by packet and post by post: on
// the same workload the two agree.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "fabric/error.h"
#include "fabric/fabric.h"
#include "fabric/opened_nic.h"
#include "gtest/gtest.h"
#include "sim/driver/sim_fabric.h"
#include "sim/model/predictor.h"
#include "sim/profile/profile.h"
#include "sim/world/world.h"

namespace sim::model {
namespace {

constexpr std::uint64_t kSeed = 1;

template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.status();
    std::abort();
  }
  return *std::move(result);
}

// One side of a pair of NICs. Members die in reverse order.
struct End : fabric::OpenedNic {
  End(fabric::Fabric& fabric, std::size_t nic, std::size_t bytes)
      : OpenedNic(Must(fabric::OpenNic(fabric, {.nic = nic}))),
        memory(new std::byte[bytes]),
        region(Must(domain->RegisterMemory({.data = memory.get(), .length_bytes = bytes}))) {}

  std::unique_ptr<std::byte[]> memory;  // not initialised: what is never touched takes no memory
  std::unique_ptr<fabric::MemoryRegion> region;
};

// A NIC that writes to its peer, and keeps its window full.
class Lane {
 public:
  Lane(fabric::Fabric& from, fabric::Fabric& to, std::size_t nic, const Workload& load)
      : load_(load),
        from_(from, nic, load.page_bytes),
        to_(to, nic, load.page_bytes * Places(load)) {
    std::fill_n(from_.memory.get(), load.page_bytes, std::byte{0x5a});
    peer_ = Must(from_.peers->Insert(to_.endpoint->address()));
    Must(to_.peers->Insert(from_.endpoint->address()));
  }

  // How many completions there were.
  std::size_t Read() {
    fabric::Completion completions[64];
    const fabric::ReadResult read = from_.queue->Read(completions);
    for (std::size_t i = 0; i < read.count; ++i) EXPECT_TRUE(completions[i].ok());
    in_flight_ -= read.count;
    return read.count;
  }

  void Post() {
    const bool drains = load_.pattern == Pattern::kDrained;
    if (drains && in_flight_ > 0) return;
    while (in_flight_ + load_.burst <= load_.window) PostBurst();
  }

 private:
  static std::size_t Places(const Workload& load) { return 2 * load.window; }

  void PostBurst() {
    std::vector<fabric::WriteRequest> writes(load_.burst);
    for (fabric::WriteRequest& write : writes) {
      write.peer = peer_;
      write.source = from_.region->Local();
      write.target = to_.region->remote();
      write.target.address += next_++ % Places(load_) * load_.page_bytes;
      write.context = fabric::Context{next_};
    }
    EXPECT_EQ(from_.endpoint->Write(writes).error, fabric::ErrorCode::kOk);
    in_flight_ += writes.size();
  }

  const Workload load_;
  End from_;
  End to_;
  fabric::Peer peer_{};
  std::uint64_t next_ = 0;
  std::size_t in_flight_ = 0;
};

void GiveThreads(World& world, Node& machine, const Workload& load) {
  for (std::size_t i = 0; i < load.threads; ++i) {
    const std::size_t begin = i * load.nics / load.threads;
    const int node = machine.profile().nics[begin].numa_node;
    const std::size_t thread = Must(
        world.processors().AddThread(machine, {.numa_node = load.pinned ? node : Numa::kAnywhere,
                                               .shares_state = !load.sharded,
                                               .progress_in_post = !load.lazy}));
    for (std::size_t nic = begin; nic < (i + 1) * load.nics / load.threads; ++nic) {
      EXPECT_TRUE(world.processors().Assign(machine, nic, thread).ok());
    }
  }
}

// Writes a second, after the first windows.
double Simulate(const Profile& profile, const Workload& load, std::uint64_t writes_per_nic) {
  World world(kSeed, profile);
  Node& here = world.AddNode("here");
  Node& there = world.AddNode("there");
  const auto from = OpenSimFabric(world, here);
  const auto to = OpenSimFabric(world, there);
  if (!load.bare) GiveThreads(world, here, load);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (std::size_t nic = 0; nic < load.nics; ++nic) {
    lanes.push_back(std::make_unique<Lane>(*from, *to, nic, load));
  }
  const std::uint64_t warm = 2 * load.window * load.nics;
  const std::uint64_t end = warm + writes_per_nic * load.nics;
  std::uint64_t done = 0;
  std::uint64_t done_at_start = 0;
  coro::Time start{};
  while (done < end) {
    std::size_t read = 0;
    for (const auto& lane : lanes) read += lane->Read();
    done += read;
    if (start == coro::Time{} && done >= warm) {
      start = world.Now();
      done_at_start = done;
    }
    for (const auto& lane : lanes) lane->Post();
    if (read == 0 && !world.WaitUntil(coro::kNever)) {
      ADD_FAILURE() << "stuck after " << done << " writes";
      return 0;
    }
  }
  return static_cast<double>(done - done_at_start) * 1e9 /
         static_cast<double>((world.Now() - start).count());
}

struct Case {
  const char* name;
  const char* profile;
  Workload load;
  Limiter limiter;
  std::uint64_t writes_per_nic;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class CrossCheckTest : public ::testing::TestWithParam<Case> {};

TEST_P(CrossCheckTest, PredictorAndSimulatorAgree) {
  const Case& c = GetParam();
  Profile profile = **FindProfile(c.profile);
  profile.host.first_contact = {};
  const absl::StatusOr<Prediction> predicted = Predict(profile, c.load);
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  EXPECT_EQ(Name(predicted->limiter), Name(c.limiter));
  const double simulated = Simulate(profile, c.load, c.writes_per_nic);
  EXPECT_NEAR(predicted->operations_per_s / simulated, 1, 0.10)
      << "predicted " << predicted->operations_per_s << ", simulated " << simulated
      << " writes a second, seed " << kSeed;
}

Workload Load(std::size_t nics, std::size_t threads, std::uint64_t page_bytes, std::size_t window,
              std::size_t burst) {
  Workload load;
  load.nics = nics;
  load.threads = threads;
  load.page_bytes = page_bytes;
  load.window = window;
  load.burst = burst;
  return load;
}

std::vector<Case> Cases() {
  std::vector<Case> cases = {
      {"wire", "p5", Load(1, 1, 64 << 10, 64, 4), Limiter::kWire, 300},
      {"receive_side", "p5en", Load(1, 1, 64 << 10, 64, 4), Limiter::kReceiveSide, 300},
      {"window", "p5", Load(1, 1, 4 << 10, 4, 1), Limiter::kWindow, 2000},
      {"window_of_long_writes", "p5en", Load(1, 1, 256 << 10, 2, 1), Limiter::kWindow, 200},
      {"bursts", "p5", Load(8, 2, 2 << 10, 64, 16), Limiter::kPostRate, 600},
      {"paged_8_KiB", "p5en", Load(2, 1, 8 << 10, 128, 16), Limiter::kPostRate, 1500},
  };
  Workload load = Load(4, 1, 1 << 10, 32, 1);
  load.lazy = false;
  load.pinned = false;
  cases.push_back({"one_thread", "p5", load, Limiter::kPostRate, 600});
  load = Load(8, 4, 1 << 10, 32, 1);
  load.sharded = load.lazy = false;
  cases.push_back({"shared_state", "p5", load, Limiter::kPostRate, 500});
  load.pinned = false;
  cases.push_back({"roaming", "p5", load, Limiter::kNuma, 500});
  load = Load(1, 1, 64, 64, 1);
  load.bare = true;
  load.pattern = Pattern::kDrained;
  cases.push_back({"drained_64_B", "p5", load, Limiter::kWindow, 64 * 60});
  load.page_bytes = 64 << 10;
  cases.push_back({"drained_64_KiB", "p5", load, Limiter::kWindow, 64 * 6});
  load.page_bytes = 384 << 10;
  cases.push_back({"drained_384_KiB", "p5", load, Limiter::kWindow, 64 * 4});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, CrossCheckTest, ::testing::ValuesIn(Cases()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace sim::model
