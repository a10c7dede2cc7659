#include "drydock/apps/batch/load.h"

#include <algorithm>

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

}  // namespace

std::uint64_t PlacesOf(const Load& load) {
  const std::uint64_t fit = std::max<std::uint64_t>(kMostMemoryOfGpu / load.page_bytes, 1);
  return std::min(load.pages_of_gpu(), fit);
}

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
  return std::max<std::size_t>(profile.gpus.size(), 1);
}

std::size_t NicsPerGpu(const sim::Profile& profile) {
  return std::max<std::size_t>(profile.nics.size() / GpuCount(profile), 1);
}

absl::StatusOr<std::vector<std::vector<std::size_t>>> NicsOfGpus(const sim::Profile& profile,
                                                                 std::size_t gpus,
                                                                 std::size_t nics_per_gpu) {
  if (gpus > GpuCount(profile)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--gpus=", gpus, ": a ", profile.name, " has ", GpuCount(profile)));
  }
  std::vector<bool> taken(profile.nics.size());
  std::vector<std::vector<std::size_t>> groups(gpus);
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const int bridge = profile.gpus.empty() ? -1 : profile.gpus[gpu].pcie_switch;
    const auto take = [&](auto suits) {
      for (std::size_t nic = 0; nic < taken.size(); ++nic) {
        if (taken[nic] || groups[gpu].size() == NicsPerGpu(profile)) continue;
        if (!suits(profile.nics[nic])) continue;
        taken[nic] = true;
        groups[gpu].push_back(nic);
      }
    };
    take([&](const sim::NicProfile& nic) { return bridge < 0 || nic.pcie_switch == bridge; });
    // What is left of its share is on switches that no GPU is on.
    take([&](const sim::NicProfile& nic) {
      const auto there = [&](const sim::GpuProfile& other) {
        return other.pcie_switch == nic.pcie_switch;
      };
      return nic.numa_node == profile.gpus[gpu].numa_node &&
             std::none_of(profile.gpus.begin(), profile.gpus.end(), there);
    });
    if (groups[gpu].size() < nics_per_gpu) {
      return absl::InvalidArgumentError(absl::StrCat("--nics-per-gpu=", nics_per_gpu, ": a ",
                                                     profile.name, " has ", groups[gpu].size()));
    }
    groups[gpu].resize(nics_per_gpu);
  }
  return groups;
}

}  // namespace drydock::apps::batch
