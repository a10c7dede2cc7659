#include "drydock/fabric/async/barrier.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"

namespace drydock::fabric::async {

std::size_t Barrier::Rounds(std::size_t members) {
  std::size_t rounds = 0;
  while (std::size_t{1} << rounds < members) ++rounds;
  return rounds;
}

Barrier::Barrier(AsyncEndpoint& endpoint, const BufferSlice& memory, const BarrierOptions& options)
    : endpoint_(endpoint), flag_(memory), options_(options) {
  DD_CHECK(options.self < options.members, "a member's number is too high");
  DD_CHECK(memory.bytes().size() == kFlagBytes, "a barrier's flag has eight bytes");
  for (std::size_t round = 0; round < Rounds(options.members); ++round) {
    const auto immediate = options.first_immediate + static_cast<std::uint32_t>(round);
    told_.push_back(std::make_unique<ImmediateCounter>(endpoint.dispatcher(), immediate));
  }
}

RemoteBuffer Barrier::flag() const {
  MemoryRegion& region = flag_.buffer()->region();
  return region.Remote(static_cast<std::size_t>(flag_.local().data - region.data()));
}

void Barrier::Connect(std::vector<BarrierMember> members) {
  DD_CHECK(members.size() == options_.members, "a barrier of another number of members");
  members_ = std::move(members);
}

coro::Task<absl::Status> Barrier::Arrive(coro::Time deadline) {
  DD_CHECK(members_.size() == options_.members, "arriving at a barrier that is not connected");
  if (!failure_.ok()) co_return failure_;
  ++generation_;
  // The error that the next call returns if this one does not come to its end.
  failure_ = absl::FailedPreconditionError(
      absl::StrCat("arrival ", generation_, " at a barrier is under way, or was given up"));
  for (std::size_t round = 0; round < told_.size(); ++round) {
    absl::Status status = co_await RunRound(round, deadline);
    if (status.ok()) continue;
    failure_ = std::move(status);
    co_return failure_;
  }
  failure_ = absl::OkStatus();
  co_return absl::OkStatus();
}

// A write that fails is known before the wait begins: a member that cannot be reached will often
// not answer either.
coro::NowTask<absl::Status> Barrier::RunRound(std::size_t round, coro::Time deadline) {
  const std::size_t next = (options_.self + (std::size_t{1} << round)) % options_.members;
  OperationOptions options;
  options.immediate = options_.first_immediate + static_cast<std::uint32_t>(round);
  options.deadline = deadline;
  const Completion written =
      co_await endpoint_.Write(flag_, members_[next].flag, members_[next].peer, options);
  CO_RETURN_IF_ERROR(
      endpoint_.ToStatus(written, absl::StrCat("tell member ", next, " of arrival ", generation_)));
  const bool told = co_await told_[round]->Reached(generation_, deadline);
  if (!told) {
    const std::size_t before =
        (options_.self + options_.members - (std::size_t{1} << round)) % options_.members;
    co_return absl::DeadlineExceededError(absl::StrCat(
        "arrive at a barrier the time ", generation_, ": member ", before,
        " did not tell of its arrival in time, in round ", round, " of ", told_.size()));
  }
  co_return absl::OkStatus();
}

}  // namespace drydock::fabric::async
