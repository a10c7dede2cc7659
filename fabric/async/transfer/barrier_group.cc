#include "drydock/fabric/async/transfer/barrier_group.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/fabric/async/transfer/immediate.h"

namespace drydock::fabric::async::transfer {

BarrierGroup::BarrierGroup(Engine& engine, MemoryRef flag, const BarrierGroupOptions& options)
    : engine_(engine),
      flag_(std::move(flag)),
      options_(options),
      generations_(kMostPages / std::max<std::size_t>(options.members, 1)) {
  DD_CHECK(options.self < options.members && options.members <= kMostMembers,
           "a barrier's member is one of its members");
  DD_CHECK(engine_.arrivals().Add(options.transfer, *this), "the barrier's transfer is taken");
  for (Round& round : rounds_) round.came.resize(options.members);
}

BarrierGroup::~BarrierGroup() { engine_.arrivals().Remove(options_.transfer); }

void BarrierGroup::Connect(std::vector<RemoteRef> flags) {
  DD_CHECK(flags.size() == options_.members, "as many flags as members");
  writes_.clear();
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (i == options_.self) continue;
    ScatterWrite write;
    write.target = std::move(flags[i]);
    write.bytes = kFlagBytes;
    writes_.push_back(std::move(write));
  }
}

std::uint32_t BarrierGroup::PageOf(std::uint64_t generation, std::size_t member) const {
  return static_cast<std::uint32_t>(generation % generations_ * options_.members + member);
}

ArrivalSink::Verdict BarrierGroup::Arrived(std::uint32_t page) {
  const std::size_t member = page % options_.members;
  if (member == options_.self) return Verdict::kRefused;
  // No member can be further ahead: the next generation ends only when this member has come to it.
  for (const std::uint64_t generation : {generation_, generation_ + 1}) {
    if (page != PageOf(generation, member)) continue;
    Round& round = RoundOf(generation);
    if (round.came[member]) return Verdict::kDuplicate;
    round.came[member] = true;
    if (++round.count == options_.members - 1) changed_.NotifyAll();
    return Verdict::kNew;
  }
  return Verdict::kRefused;
}

coro::Task<absl::Status> BarrierGroup::Arrive(coro::Time deadline) {
  if (!failure_.ok()) co_return failure_;
  if (options_.members == 1) {
    ++generation_;
    co_return absl::OkStatus();
  }
  // Until this call has ended well.
  failure_ = absl::FailedPreconditionError(
      absl::StrCat("barrier ", options_.transfer, ": another call is under way, or was destroyed"));
  TransferOptions tell;
  tell.transfer = options_.transfer;
  tell.first_page = PageOf(generation_, options_.self);
  tell.deadline = deadline;
  absl::Status told = co_await engine_.Scatter(flag_, writes_, tell);
  Round& round = RoundOf(generation_);
  bool in_time = true;
  while (told.ok() && in_time && round.count < options_.members - 1) {
    in_time = co_await changed_.Wait(deadline);
  }
  if (told.ok() && round.count < options_.members - 1) {
    told = absl::DeadlineExceededError(absl::StrCat("barrier ", options_.transfer, ", generation ",
                                                    generation_, ": ", round.count, " of ",
                                                    options_.members - 1, " others came"));
  }
  if (!told.ok()) {
    failure_ = told;
    co_return told;
  }
  // Free for the generation after the next one, which no member can have come to yet.
  round.came.assign(options_.members, false);
  round.count = 0;
  ++generation_;
  failure_ = absl::OkStatus();
  co_return absl::OkStatus();
}

}  // namespace drydock::fabric::async::transfer
