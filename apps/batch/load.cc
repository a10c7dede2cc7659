#include "drydock/apps/batch/load.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/fabric/async/transfer/immediate.h"

namespace drydock::apps::batch {
namespace {

constexpr std::uint64_t kMostMemoryOfGpu = 16 << 20;
// Transfers a GPU's pages are cut into at the least, so that the end of one does not stop the NICs.
constexpr std::uint64_t kFewestTransfers = 8;
// One less than there are: the last number is the warm-up's.
constexpr std::uint64_t kMostTransfers = fabric::async::transfer::kMostTransfers - 1;

// NICs for each GPU where all have equally many; 1 where they share them.
std::size_t Share(const sim::Profile& profile) {
  const std::size_t gpus = std::max<std::size_t>(profile.gpus.size(), 1);
  return std::max<std::size_t>(profile.nics.size() / gpus, 1);
}

// The NICs of each GPU that has any, where no NIC is two GPUs'.
std::vector<std::vector<std::size_t>> Groups(const sim::Profile& profile) {
  std::vector<std::vector<std::size_t>> groups;
  std::vector<bool> taken(profile.nics.size());
  const auto take = [&](std::vector<std::size_t>& group, auto suits) {
    for (std::size_t nic = 0; nic < taken.size() && group.size() < Share(profile); ++nic) {
      if (taken[nic] || !suits(profile.nics[nic])) continue;
      taken[nic] = true;
      group.push_back(nic);
    }
  };
  const auto has_gpu = [&](int bridge) {
    return std::any_of(profile.gpus.begin(), profile.gpus.end(),
                       [&](const sim::GpuProfile& gpu) { return gpu.pcie_switch == bridge; });
  };
  for (const sim::GpuProfile& gpu : profile.gpus) {
    std::vector<std::size_t> group;
    take(group, [&](const sim::NicProfile& nic) {
      return gpu.pcie_switch < 0 || nic.pcie_switch == gpu.pcie_switch;
    });
    // What is left of its share is on switches that no GPU is on.
    take(group, [&](const sim::NicProfile& nic) {
      return nic.numa_node == gpu.numa_node && !has_gpu(nic.pcie_switch);
    });
    if (!group.empty()) groups.push_back(std::move(group));
  }
  if (profile.gpus.empty()) {
    take(groups.emplace_back(), [](const sim::NicProfile&) { return true; });
  }
  return groups;
}

}  // namespace

std::uint64_t PlacesOf(const Load& load) {
  const std::uint64_t fit = std::max<std::uint64_t>(kMostMemoryOfGpu / load.page_bytes, 1);
  return std::min(load.pages_of_gpu(), fit);
}

std::uint64_t MemoryOf(const Load& load) { return (PlacesOf(load) + 1) * load.page_bytes; }

std::uint32_t PagesOfTransfer(const Load& load) {
  const std::uint64_t pages = load.pages_of_gpu();
  // Half a window of every NIC at the least: the transfers that are under way fill it twice.
  const std::uint64_t wanted = std::min(
      pages,
      std::max<std::uint64_t>(pages / kFewestTransfers, load.window * load.nics_per_gpu / 2 + 1));
  const std::uint64_t fewest = (pages + kMostTransfers - 1) / kMostTransfers;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(std::min<std::uint64_t>(wanted, 4096), fewest, UINT32_MAX));
}

std::uint32_t TransfersOf(const Load& load) {
  const std::uint64_t each = PagesOfTransfer(load);
  return static_cast<std::uint32_t>((load.pages_of_gpu() + each - 1) / each);
}

double Gbps(std::uint64_t bytes, coro::Duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  return seconds > 0 ? static_cast<double>(bytes) * 8e-9 / seconds : 0;
}

std::size_t GpuCount(const sim::Profile& profile) {
  return std::max<std::size_t>(Groups(profile).size(), 1);
}

std::size_t NicsPerGpu(const sim::Profile& profile) { return Share(profile); }

absl::StatusOr<std::vector<std::vector<std::size_t>>> NicsOfGpus(const sim::Profile& profile,
                                                                 std::size_t gpus,
                                                                 std::size_t nics_per_gpu) {
  std::vector<std::vector<std::size_t>> groups = Groups(profile);
  if (gpus > groups.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--gpus=", gpus, ": a ", profile.name, " has ", groups.size(),
                     groups.size() < profile.gpus.size() ? " with a NIC of its own" : ""));
  }
  groups.resize(gpus);
  for (std::vector<std::size_t>& group : groups) {
    if (group.size() < nics_per_gpu) {
      return absl::InvalidArgumentError(absl::StrCat("--nics-per-gpu=", nics_per_gpu, ": a ",
                                                     profile.name, " has ", group.size()));
    }
    group.resize(nics_per_gpu);
  }
  return groups;
}

}  // namespace drydock::apps::batch
