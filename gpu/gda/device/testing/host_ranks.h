// Ranks on stand-in GPUs, and kernels of a test's own on their threads.

#ifndef DRYDOCK_GPU_GDA_DEVICE_TESTING_HOST_RANKS_H_
#define DRYDOCK_GPU_GDA_DEVICE_TESTING_HOST_RANKS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "drydock/gpu/device_memory.h"
#include "drydock/gpu/gda/device/views.h"
#include "drydock/gpu/gda/host_team.h"
#include "drydock/gpu/gda/sim_ranks.h"
#include "drydock/gpu/host_device/host_device.h"
#include "drydock/sim/testing/lab.h"
#include "gtest/gtest.h"

namespace drydock::gpu::gda {

// A profile whose time-outs a test can wait for.
inline sim::Profile Impatient() {
  sim::Profile profile = sim_testing::Small();
  profile.unresponsive_timeout = std::chrono::milliseconds(200);
  profile.unreachable_timeout = std::chrono::milliseconds(200);
  return profile;
}

class HostRanks {
 public:
  explicit HostRanks(
      std::uint32_t ranks, SimRanksOptions options = {},
      std::chrono::nanoseconds visibility_delay = HostDeviceOptions().visibility_delay)
      : stores_seed_(options.stores_seed), profile_(Impatient()) {
    std::vector<Device*> devices;
    for (std::uint32_t i = 0; i < ranks; ++i) {
      devices_.push_back(
          OpenHostDevice({.ordinal = static_cast<int>(i), .visibility_delay = visibility_delay}));
      devices.push_back(devices_.back().get());
    }
    ranks_ =
        std::make_unique<SimRanks>(profile_, /*seed=*/1, std::move(devices), std::move(options));
    const absl::Status opened = ranks_->Open();
    EXPECT_TRUE(opened.ok()) << opened;
  }

  SimRanks& ranks() { return *ranks_; }
  const PortView& port(std::uint32_t rank) const { return ranks_->port(rank); }
  PortState& state(std::uint32_t rank) { return *port(rank).state; }

  // A kernel of one rank.
  void Run(Grid grid, const HostTeams::Body& body) { RunTeams(grid, stores_seed_, body); }
  // One of each rank, at the same time: body(rank, team).
  void RunAll(Grid grid, const std::function<void(std::uint32_t, HostTeam&)>& body) {
    std::vector<std::unique_ptr<HostTeams>> kernels;
    for (std::uint32_t rank = 0; rank < ranks_->size(); ++rank) {
      kernels.push_back(std::make_unique<HostTeams>(
          grid, stores_seed_, [&body, rank](HostTeam& team) { body(rank, team); }));
    }
  }

  std::vector<std::uint32_t> Words(std::uint32_t rank, std::size_t offset, std::size_t count) {
    std::vector<std::uint32_t> words(count);
    EXPECT_TRUE(ranks_->Read(rank, offset, words.data(), count * 4).ok());
    return words;
  }
  void SetWords(std::uint32_t rank, std::size_t offset, const std::vector<std::uint32_t>& words) {
    EXPECT_TRUE(ranks_->Write(rank, offset, words.data(), words.size() * 4).ok());
  }

 private:
  const std::uint64_t stores_seed_;
  const sim::Profile profile_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<SimRanks> ranks_;
};

// As kernels see word `index` of their rank's window.
inline std::uint32_t* WordAt(const PortView& port, std::size_t offset) {
  return reinterpret_cast<std::uint32_t*>(port.local + offset);
}

// first, first + 1, ...
inline std::vector<std::uint32_t> Counting(std::uint32_t first, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = first + static_cast<std::uint32_t>(i);
  return words;
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_TESTING_HOST_RANKS_H_
