#include "drydock/apps/common/ranks/tcp_ranks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <list>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/frames.h"
#include "drydock/apps/common/wire.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/wait_list.h"

namespace drydock::apps {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kGreeting = 0x31736b6e61724444;  // "DDranks1"
constexpr std::size_t kGreetingBytes = 16;
// Bytes that one rank gives, at most; and all of them.
constexpr std::size_t kMostGiven = std::size_t{16} << 20;
constexpr std::size_t kMostGathered = std::size_t{1} << 30;
// For a connection that says nothing, so that it does not hold up those that do.
constexpr coro::Duration kGreetingPatience = 5s;
// How long to wait for descriptors that such connections have.
constexpr coro::Duration kRetry = 100ms;

absl::Status Foreign(const coro::TcpAddress& host) {
  return absl::InvalidArgumentError(
      absl::StrCat("meet at ", host.ToString(), ": what listens there is no rank 0"));
}

std::vector<std::byte> Pair(std::uint64_t first, std::uint64_t second) {
  WireWriter writer;
  writer.Number(first);
  writer.Number(second);
  return writer.Take();
}

// Why nothing passes between us. `what`: "tell" or "hear of".
absl::Status Failed(const absl::Status& status, absl::string_view what, std::size_t rank) {
  if (absl::IsOutOfRange(status) || absl::IsUnavailable(status)) {  // its bytes end, or it is gone
    return absl::UnavailableError(absl::StrCat("rank ", rank, " is gone"));
  }
  return absl::Status(status.code(), absl::StrCat(what, " rank ", rank, ": ", status.message()));
}

// Rank 0: hears all ranks, then tells all ranks.
class HostRanks final : public Ranks {
 public:
  // `others`: by rank, from 1 on.
  explicit HostRanks(std::vector<coro::Descriptor> others)
      : Ranks(0, others.size() + 1), others_(std::move(others)) {}

  coro::Task<absl::StatusOr<Gathered>> Gather(std::vector<std::byte> mine,
                                              coro::Time deadline) override {
    Gathered all(size());
    all[0] = std::move(mine);
    std::size_t gathered = all[0].size();
    for (std::size_t i = 1; i < size(); ++i) {
      absl::StatusOr<std::vector<std::byte>> given =
          co_await ReceiveFrame(others_[i - 1], kMostGiven, deadline);
      if (!given.ok()) co_return Failed(given.status(), "hear of", i);
      all[i] = *std::move(given);
      gathered += all[i].size() + sizeof(std::uint32_t);
      if (gathered > kMostGathered) {
        co_return absl::ResourceExhaustedError("hear of the ranks: they give over 1 GiB");
      }
    }
    WireWriter writer;
    for (const std::vector<std::byte>& given : all) writer.Part(given);
    const std::vector<std::byte> told = writer.Take();
    for (std::size_t i = 1; i < size(); ++i) {
      const absl::Status sent = co_await SendFrame(others_[i - 1], told, deadline);
      if (!sent.ok()) co_return Failed(sent, "tell", i);
    }
    co_return all;
  }

 private:
  std::vector<coro::Descriptor> others_;
};

class GuestRanks final : public Ranks {
 public:
  GuestRanks(std::size_t rank, std::size_t size, coro::Descriptor host, coro::TcpAddress at)
      : Ranks(rank, size), host_(std::move(host)), at_(std::move(at)) {}

  coro::Task<absl::StatusOr<Gathered>> Gather(std::vector<std::byte> mine,
                                              coro::Time deadline) override {
    const absl::Status sent = co_await SendFrame(host_, std::move(mine), deadline);
    if (!sent.ok()) co_return Failed(sent, "tell", 0);
    const absl::StatusOr<std::vector<std::byte>> told =
        co_await ReceiveFrame(host_, kMostGathered, deadline);
    if (!told.ok()) co_return Failed(told.status(), "hear of", 0);
    WireReader reader(*told);
    Gathered all(size());
    for (std::vector<std::byte>& given : all) {
      const std::span<const std::byte> bytes = reader.Part();
      given.assign(bytes.begin(), bytes.end());
    }
    if (!reader.ok() || reader.remaining() != 0) co_return Foreign(at_);
    co_return all;
  }

 private:
  coro::Descriptor host_;
  const coro::TcpAddress at_;
};

// The connections to rank 0, until all ranks are there. Each is listened to by itself: one that
// says nothing holds up no other, and one that ends while it waits is no rank any more.
class Guests {
 public:
  // Its constructor's arguments outlive it.
  Guests(const coro::Descriptor& listener, const coro::TcpAddress& at, std::size_t ranks)
      : listener_(listener), at_(at), ranks_(ranks) {}

  // By rank, from 1 on. Errors: see TcpHost::Meet. Once.
  coro::Task<absl::StatusOr<std::vector<coro::Descriptor>>> Await(coro::Time deadline) {
    greetings_.Spawn(Accept(deadline));
    while (failure_.ok() && count() < ranks_) {
      if (!co_await changed_.Wait(deadline)) {
        co_return absl::DeadlineExceededError(absl::StrCat(
            "meet at ", at_.ToString(), ": ", count(), " of ", ranks_, " ranks came in time"));
      }
    }
    CO_RETURN_IF_ERROR(failure_);
    are_complete_ = true;
    greetings_.Cancel();  // nobody listens to them any more
    CO_RETURN_IF_ERROR(co_await greetings_.Join());
    std::vector<coro::Descriptor> others;
    for (std::size_t rank = 1; rank < ranks_; ++rank) {
      auto it = Find(rank);
      if (it == guests_.end()) it = Find(kAnyRank);
      others.push_back(std::move(it->connection));
      guests_.erase(it);
    }
    co_return others;
  }

 private:
  struct Guest {
    std::size_t rank;  // or kAnyRank
    coro::Descriptor connection;
  };

  std::size_t count() const { return 1 + guests_.size(); }
  std::list<Guest>::iterator Find(std::size_t rank) {
    return std::find_if(guests_.begin(), guests_.end(),
                        [rank](const Guest& guest) { return guest.rank == rank; });
  }

  coro::Task<absl::Status> Accept(coro::Time deadline) {
    for (;;) {
      absl::StatusOr<coro::Descriptor> guest = co_await coro::Accept(listener_, deadline);
      if (absl::IsDeadlineExceeded(guest.status())) co_return absl::OkStatus();
      const bool others_are_heard = greetings_.running() > count();  // besides this task, and ranks
      if (absl::IsResourceExhausted(guest.status()) && others_are_heard) {
        co_await coro::Sleep(kRetry);
        continue;
      }
      if (!guest.ok()) co_return Fail(guest.status());
      greetings_.Spawn(Greet(*std::move(guest), deadline));
    }
  }
  coro::Task<absl::Status> Greet(coro::Descriptor guest, coro::Time deadline) {
    const coro::Time patience =
        std::min(deadline, coro::After(coro::EventLoop::Current().Now(), kGreetingPatience));
    const absl::StatusOr<std::vector<std::byte>> greeting =
        co_await ReceiveFrame(guest, kGreetingBytes, patience);
    if (!greeting.ok() || greeting->size() != kGreetingBytes) co_return absl::OkStatus();
    WireReader reader(*greeting);
    if (reader.Number<std::uint64_t>() != kGreeting) co_return absl::OkStatus();
    const auto rank = reader.Number<std::uint64_t>();
    if (count() == ranks_) co_return absl::OkStatus();  // one too many
    const bool is_there = rank != kAnyRank && Find(rank) != guests_.end();
    if (rank != kAnyRank && (rank == 0 || rank >= ranks_ || is_there)) {
      co_return Fail(absl::InvalidArgumentError(
          absl::StrCat("meet at ", at_.ToString(), ": a process says that it is rank ", rank,
                       is_there ? ", and another one is" : "", "; there are ", ranks_)));
    }
    const auto it = guests_.insert(guests_.end(), Guest{rank, std::move(guest)});
    changed_.NotifyAll();
    // It says nothing until it is welcome: an end is its end, and another process may come for it.
    std::array<std::byte, 1> nothing;
    const absl::StatusOr<std::size_t> end =
        co_await coro::Read(it->connection, nothing, coro::kNever);
    static_cast<void>(end);
    if (!are_complete_) guests_.erase(it);
    co_return absl::OkStatus();
  }
  absl::Status Fail(const absl::Status& why) {
    failure_ = why;
    changed_.NotifyAll();
    return absl::OkStatus();
  }

  const coro::Descriptor& listener_;
  const coro::TcpAddress& at_;
  const std::size_t ranks_;
  std::list<Guest> guests_;  // in the order in which they came
  bool are_complete_ = false;
  absl::Status failure_;
  coro::WaitList changed_{"the other ranks"};
  coro::Scope greetings_;
};

}  // namespace

absl::StatusOr<TcpHost> TcpHost::Listen(coro::EpollSelector& selector, const coro::TcpAddress& at,
                                        std::size_t ranks) {
  if (ranks < 1 || ranks > kMostTcpRanks) {
    return absl::InvalidArgumentError(absl::StrCat("meet at ", at.ToString(), ": ", ranks,
                                                   " ranks are not between 1 and ", kMostTcpRanks));
  }
  ASSIGN_OR_RETURN(coro::Descriptor listener, coro::Listen(selector, at));
  ASSIGN_OR_RETURN(coro::TcpAddress here, coro::LocalAddress(listener));
  return TcpHost(std::move(listener), std::move(here), ranks);
}

coro::Task<absl::StatusOr<std::unique_ptr<Ranks>>> TcpHost::Meet(coro::Time deadline) {
  Guests guests(listener_, address_, ranks_);
  CO_ASSIGN_OR_RETURN(std::vector<coro::Descriptor> others, co_await guests.Await(deadline));
  for (std::size_t rank = 1; rank < ranks_; ++rank) {
    const absl::Status told = co_await SendFrame(others[rank - 1], Pair(rank, ranks_), deadline);
    if (!told.ok()) co_return Failed(told, "tell", rank);
  }
  listener_.Close();
  co_return std::make_unique<HostRanks>(std::move(others));
}

coro::Task<absl::StatusOr<std::unique_ptr<Ranks>>> MeetAt(coro::EpollSelector& selector,
                                                          coro::TcpAddress host, std::size_t rank,
                                                          coro::Time deadline) {
  absl::StatusOr<coro::Descriptor> connected = co_await coro::Connect(selector, host, deadline);
  const coro::Time began = coro::EventLoop::Current().Now();
  bool said = false;
  while (absl::IsUnavailable(connected.status()) && coro::EventLoop::Current().Now() < deadline) {
    if (!said && coro::EventLoop::Current().Now() - began >= 1s) {
      std::cerr << "meet at " << host.ToString() << ": nobody listens there yet; waiting\n";
      said = true;
    }
    co_await coro::Sleep(50ms);
    connected = co_await coro::Connect(selector, host, deadline);
  }
  if (absl::IsUnavailable(connected.status()) || absl::IsDeadlineExceeded(connected.status())) {
    co_return absl::UnavailableError(
        absl::StrCat("meet at ", host.ToString(), ": nobody listened there in time"));
  }
  CO_RETURN_IF_ERROR(connected.status());
  CO_RETURN_IF_ERROR(co_await SendFrame(*connected, Pair(kGreeting, rank), deadline));
  const absl::StatusOr<std::vector<std::byte>> welcome =
      co_await ReceiveFrame(*connected, kGreetingBytes, deadline);
  if (absl::IsDeadlineExceeded(welcome.status())) {
    co_return absl::DeadlineExceededError(
        absl::StrCat("meet at ", host.ToString(), ": the other ranks did not come in time"));
  }
  if (!welcome.ok() && !absl::IsInvalidArgument(welcome.status())) {
    co_return absl::UnavailableError(
        absl::StrCat("meet at ", host.ToString(),
                     ": rank 0 ended before all had come, or does not want this one"));
  }
  if (!welcome.ok() || welcome->size() != kGreetingBytes) co_return Foreign(host);
  WireReader reader(*welcome);
  const auto mine = reader.Number<std::uint64_t>();
  const auto size = reader.Number<std::uint64_t>();
  if (mine >= size || size > kMostTcpRanks) co_return Foreign(host);
  co_return std::make_unique<GuestRanks>(mine, size, *std::move(connected), host);
}

}  // namespace drydock::apps
