#include "apps/batch/launched_pairs.h"

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "coro/status_macros.h"
#include "coro/steady_clock.h"

namespace apps::batch {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<LaunchedPairs>> LaunchedPairs::Join(const Launch& launch) {
  if (launch.size % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(launch.launcher, " started ", launch.size,
                                                   " ranks: pairs need an even number"));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Ranks> ranks, JoinLaunch(launch));
  return std::unique_ptr<LaunchedPairs>(new LaunchedPairs(std::move(ranks)));
}

std::string LaunchedPairs::Describe() const {
  return absl::StrCat("rank ", ranks_->rank(), " of ", ranks_->size(),
                      receives() ? " receives" : " sends");
}

absl::StatusOr<Gathered> LaunchedPairs::Tell(coro::EventLoop& loop, const std::string& text,
                                             coro::Duration timeout) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  std::vector<std::byte> mine(begin, begin + text.size());
  return loop.Run(ranks_->AllGather(std::move(mine), coro::After(loop.Now(), timeout)));
}

absl::Status LaunchedPairs::Announce(coro::EventLoop& loop, const coro::TcpAddress& here,
                                     coro::Duration timeout) {
  return Tell(loop, absl::StrCat(HostName(), " ", here.port()), timeout).status();
}

absl::StatusOr<coro::TcpAddress> LaunchedPairs::FindReceiver(coro::Duration timeout) {
  coro::SteadyClock clock;
  coro::EventLoop loop(clock);
  ASSIGN_OR_RETURN(const Gathered all, Tell(loop, "", timeout));
  const std::vector<std::byte>& told = all[ranks_->rank() - 1];
  const std::vector<std::string> parts = absl::StrSplit(
      absl::string_view(reinterpret_cast<const char*>(told.data()), told.size()), ' ');
  std::uint32_t port = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &port) || port > UINT16_MAX) {
    return absl::InvalidArgumentError(
        "the receiver's rank has told something else than an address");
  }
  // A machine need not know its own name.
  if (parts[0] == HostName()) return coro::TcpAddress::Loopback(static_cast<std::uint16_t>(port));
  return coro::TcpAddress::Resolve(absl::StrCat(parts[0], ":", port));
}

}  // namespace apps::batch
