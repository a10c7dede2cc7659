#include "drydock/fabric/metrics/hw_counters.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace drydock::fabric::metrics {
namespace {

namespace fs = std::filesystem;

// Files of sysfs are a page at most, and a number fits into much less.
constexpr std::size_t kMostDigits = 32;

// Why nothing was read, where something is there.
void Keep(int error, int& trouble) {
  const bool missing = error == 0 || error == ENOENT || error == ENOTDIR || error == ENODEV;
  if (!missing && trouble == 0) trouble = error;
}

bool ReadNumber(const fs::path& path, std::uint64_t& number, int& trouble) {
  char text[kMostDigits] = {};
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? -1 : read(file, text, sizeof(text));
  if (length < 0) Keep(errno, trouble);
  if (file >= 0) close(file);
  return length >= 0 && length < static_cast<ssize_t>(sizeof(text)) &&
         absl::SimpleAtoi(absl::string_view(text, static_cast<std::size_t>(length)), &number);
}

void AddFolder(const fs::path& folder, NicMetrics& metrics, int& trouble) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    CounterValue counter{it->path().filename().string(), 0};
    std::error_code vanished;
    const bool counts = counter.name != "lifespan" && Find(metrics, counter.name) == nullptr &&
                        it->is_regular_file(vanished);
    if (counts && ReadNumber(it->path(), counter.value, trouble)) {
      metrics.counters.push_back(std::move(counter));
    }
  }
  Keep(error.value(), trouble);
}

}  // namespace

absl::StatusOr<NicMetrics> ReadHardwareCounters(std::string_view nic, std::string_view devices) {
  int trouble = 0;
  NicMetrics metrics{.node = "", .nic = std::string(nic), .source = std::string(kDevice)};
  // A name is one of a folder here: it leads nowhere else.
  const bool plain = !nic.empty() && nic.find('/') == std::string_view::npos && nic[0] != '.';
  if (plain) {
    const fs::path device = fs::path(devices) / fs::path(nic);
    AddFolder(device / "ports" / "1" / "hw_counters", metrics, trouble);
    AddFolder(device / "hw_counters", metrics, trouble);
  }
  if (metrics.counters.empty() && trouble != 0) {
    const bool refused = trouble == EACCES || trouble == EPERM;
    return absl::Status(
        refused ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kUnavailable,
        absl::StrCat("read counters of ", metrics.nic, ": ", std::strerror(trouble)));
  }
  if (metrics.counters.empty()) {
    return absl::NotFoundError(
        absl::StrCat("read counters: ", metrics.nic, " has none in ", std::string(devices)));
  }
  Order(metrics.counters);
  return metrics;
}

}  // namespace drydock::fabric::metrics
