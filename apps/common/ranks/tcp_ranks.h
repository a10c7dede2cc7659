// Ranks of several processes that meet at an address: rank 0 listens there, the others connect.
//
//   // rank 0 of four, which says where it is:
//   ASSIGN_OR_RETURN(TcpHost host, TcpHost::Listen(*io, at, /*ranks=*/4));
//   CO_ASSIGN_OR_RETURN(const auto ranks, co_await host.Meet(deadline));
//   // the others:
//   CO_ASSIGN_OR_RETURN(const auto ranks, co_await MeetAt(*io, address, kAnyRank, deadline));
//
// Peers are not authenticated: a private network is assumed. A stranger's bytes are refused,
// and do no other harm.

#ifndef DRYDOCK_APPS_COMMON_RANKS_TCP_RANKS_H_
#define DRYDOCK_APPS_COMMON_RANKS_TCP_RANKS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "drydock/apps/common/ranks/ranks.h"
#include "drydock/coro/descriptor.h"
#include "drydock/coro/epoll_selector.h"
#include "drydock/coro/task.h"
#include "drydock/coro/tcp.h"
#include "drydock/coro/time.h"

namespace drydock::apps {

// For a process that does not know its rank: rank 0 numbers those in the order in which they come.
inline constexpr std::size_t kAnyRank = SIZE_MAX;
inline constexpr std::size_t kMostTcpRanks = 4096;

// Rank 0 before the others came. A value; dies before the selector.
class TcpHost {
 public:
  // Errors: kInvalidArgument: no rank, or more than kMostTcpRanks; those of coro::Listen.
  static absl::StatusOr<TcpHost> Listen(coro::EpollSelector& selector, const coro::TcpAddress& at,
                                        std::size_t ranks);

  // Where it listens: tells the port that was free.
  const coro::TcpAddress& address() const { return address_; }

  // Waits for the others. A connection that does not introduce itself as a rank is closed, and the
  // rank is waited for still, also where such connections have all descriptors of the process. So
  // is a rank whose process ends before all have come: it may be started again. kDeadlineExceeded:
  // says how many are there; kInvalidArgument: two say that they are the same rank, or one that it
  // is none of these. REQUIRES: called once.
  coro::Task<absl::StatusOr<std::unique_ptr<Ranks>>> Meet(coro::Time deadline);

 private:
  TcpHost(coro::Descriptor listener, coro::TcpAddress address, std::size_t ranks)
      : listener_(std::move(listener)), address_(std::move(address)), ranks_(ranks) {}

  coro::Descriptor listener_;
  coro::TcpAddress address_;
  std::size_t ranks_;
};

// Another rank. Tries again, until `deadline`, while no process listens there: rank 0 may be
// started last. kUnavailable: none did; kDeadlineExceeded: other ranks did not come;
// kInvalidArgument: the peer there is no rank 0, or has refused `rank`.
coro::Task<absl::StatusOr<std::unique_ptr<Ranks>>> MeetAt(coro::EpollSelector& selector,
                                                          coro::TcpAddress host, std::size_t rank,
                                                          coro::Time deadline);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_RANKS_TCP_RANKS_H_
