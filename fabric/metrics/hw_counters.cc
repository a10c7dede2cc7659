#include "fabric/metrics/hw_counters.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace fabric::metrics {
namespace {

namespace fs = std::filesystem;

// Files of sysfs are a page at most, and a number fits into much less.
constexpr std::size_t kMostDigits = 32;

bool ReadNumber(const fs::path& path, std::uint64_t& number) {
  char text[kMostDigits] = {};
  std::ifstream file(path, std::ios::binary);
  file.read(text, sizeof(text));
  const auto length = static_cast<std::size_t>(file.gcount());
  return length < sizeof(text) && absl::SimpleAtoi(absl::string_view(text, length), &number);
}

void AddFolder(const fs::path& folder, NicMetrics& metrics) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    CounterValue counter{it->path().filename().string(), 0};
    const bool counts = counter.name != "lifespan" && Find(metrics, counter.name) == nullptr &&
                        it->is_regular_file(error);
    if (counts && ReadNumber(it->path(), counter.value)) {
      metrics.counters.push_back(std::move(counter));
    }
  }
}

}  // namespace

absl::StatusOr<NicMetrics> ReadHardwareCounters(std::string_view nic, std::string_view devices) {
  NicMetrics metrics{.node = "", .nic = std::string(nic), .source = std::string(kDevice)};
  // A name is one of a folder here: it leads nowhere else.
  const bool plain = !nic.empty() && nic.find('/') == std::string_view::npos && nic[0] != '.';
  if (plain) {
    const fs::path device = fs::path(devices) / fs::path(nic);
    AddFolder(device / "ports" / "1" / "hw_counters", metrics);
    AddFolder(device / "hw_counters", metrics);
  }
  if (metrics.counters.empty()) {
    return absl::NotFoundError(
        absl::StrCat("read counters: ", metrics.nic, " has none in ", std::string(devices)));
  }
  Order(metrics.counters);
  return metrics;
}

}  // namespace fabric::metrics
