#include "drydock/apps/alltoall/rounds.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps::alltoall {
namespace {

absl::Status OfRank(std::size_t rank, absl::string_view what, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("rank ", rank, ", ", what, ": ", status.message()));
}

coro::Task<absl::StatusOr<Results>> TellResults(const Member& member, Ranks& ranks,
                                                coro::Duration timeout) {
  const coro::Time deadline = coro::After(coro::EventLoop::Current().Now(), timeout);
  std::vector<std::byte> mine = member.result().Serialize();
  CO_ASSIGN_OR_RETURN(const Gathered all, co_await ranks.AllGather(std::move(mine), deadline));
  Results results;
  for (const std::vector<std::byte>& bytes : all) {
    CO_ASSIGN_OR_RETURN(results.emplace_back(), RankResult::Parse(bytes));
  }
  co_return results;
}

// The outcome of a run of all ranks. Only the first error is kept: later ones follow from it.
struct Outcome {
  absl::Status first_error;
  Results results;
};

// `outcome` outlives the task.
coro::Task<absl::Status> PlayInto(Member& member, Ranks& ranks, RoundsOptions options,
                                  Outcome& outcome) {
  absl::StatusOr<Results> results = co_await PlayRank(member, ranks, std::move(options));
  if (outcome.first_error.ok()) outcome.first_error = results.status();
  CO_RETURN_IF_ERROR(results.status());
  outcome.results = *std::move(results);
  co_return absl::OkStatus();
}

}  // namespace

coro::Task<absl::StatusOr<Results>> PlayRank(Member& member, Ranks& ranks, RoundsOptions options) {
  const absl::Status met = co_await member.Meet(ranks);
  CO_RETURN_IF_ERROR(OfRank(ranks.rank(), "start", met));
  for (std::uint32_t round = 0; round < member.workload().rounds; ++round) {
    const absl::Status done = co_await member.Round(round);
    CO_RETURN_IF_ERROR(OfRank(ranks.rank(), absl::StrCat("round ", round), done));
    options.progress(round + 1);
  }
  absl::StatusOr<Results> results = co_await TellResults(member, ranks, options.timeout);
  CO_RETURN_IF_ERROR(OfRank(ranks.rank(), "end", results.status()));
  co_return results;
}

coro::Task<absl::StatusOr<Results>> PlayAll(std::span<const std::unique_ptr<Member>> members,
                                            std::span<const std::unique_ptr<Ranks>> ranks,
                                            RoundsOptions options) {
  Outcome outcome;
  coro::Scope all(coro::OnError::kCancel);
  for (std::size_t i = 0; i < members.size(); ++i) {
    all.Spawn(PlayInto(*members[i], *ranks[i], options, outcome));
    options.progress = [](std::uint32_t) {};
  }
  const absl::Status joined = co_await all.Join();
  CO_RETURN_IF_ERROR(outcome.first_error);
  CO_RETURN_IF_ERROR(joined);
  co_return outcome.results;
}

}  // namespace drydock::apps::alltoall
