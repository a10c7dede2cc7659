#include "drydock/apps/batch/launched_pairs.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/common/host_name.h"
#include "drydock/apps/common/ranks/launched_ranks.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps::batch {
namespace {

std::string ReadLink(const char* path) {
  std::array<char, 256> target{};
  return readlink(path, target.data(), target.size() - 1) > 0 ? target.data() : "";
}

// Processes for which it is the same share a loopback interface: one boot of one machine, and one
// network namespace in it.
std::string NetworkStack() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  return absl::StrCat(boot, "/", ReadLink("/proc/self/ns/net"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<LaunchedPairs>> LaunchedPairs::Join(const Launch& launch,
                                                                   coro::Duration timeout) {
  if (launch.size % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(launch.launcher, " started ",
                                                   FormatCount(launch.size, "rank"),
                                                   ": pairs need an even number"));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Ranks> ranks, JoinLaunch(launch));
  return std::unique_ptr<LaunchedPairs>(new LaunchedPairs(std::move(ranks), timeout));
}

std::string LaunchedPairs::Describe() const {
  return absl::StrCat("rank ", ranks_->rank(), " of ", ranks_->size(),
                      receives() ? " receives" : " sends");
}

absl::Status LaunchedPairs::Announce(const coro::TcpAddress& here) {
  const std::string text = absl::StrCat(HostName(), " ", NetworkStack(), " ", here.port());
  return GatherText(*ranks_, text, timeout_).status();
}

absl::Status LaunchedPairs::GiveUp(const absl::Status& why) {
  return apps::GiveUp(*ranks_, why, timeout_);
}

absl::StatusOr<coro::TcpAddress> LaunchedPairs::FindReceiver() {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, GatherText(*ranks_, "", timeout_));
  const std::vector<std::string> parts = absl::StrSplit(all[ranks_->rank() - 1], ' ');
  std::uint32_t port = 0;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[2], &port) || port > UINT16_MAX) {
    return absl::InvalidArgumentError(
        "the receiver's rank has told something else than an address");
  }
  // A machine need not know its own name; several containers may have one.
  if (parts[1] == NetworkStack()) {
    return coro::TcpAddress::Loopback(static_cast<std::uint16_t>(port));
  }
  return coro::TcpAddress::Resolve(absl::StrCat(parts[0], ":", port));
}

}  // namespace drydock::apps::batch
