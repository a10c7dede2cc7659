#include "drydock/sim/explore/shard_run.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"

namespace drydock::sim::explore {
namespace {

constexpr std::uint64_t kFirstBlock = 64;
constexpr std::uint64_t kLargestBlock = 1 << 20;

// The seeds between two files: twice as many while they take too little time, half as many when too
// much. No result depends on it.
std::uint64_t NextBlock(std::uint64_t block, coro::Duration took, coro::Duration wanted) {
  if (took < wanted) return std::min(block * 2, kLargestBlock);
  return took > 4 * wanted ? std::max<std::uint64_t>(block / 2, 1) : block;
}

// The results that are there already, or empty ones.
absl::StatusOr<Results> Begin(const ExploreOptions& options, const ShardOptions& shard) {
  Results fresh;
  fresh.sweep = shard.sweep;
  fresh.all = {options.first_seed, options.seeds};
  fresh.shard = shard.shard;
  if (shard.file.empty()) return fresh;
  absl::StatusOr<Results> found = ReadResults(shard.file);
  if (absl::IsNotFound(found.status())) return fresh;
  RETURN_IF_ERROR(found.status());
  const std::string difference = DifferenceOf(found->sweep, fresh.sweep);
  if (!difference.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(shard.file, ": is of another sweep, by its ", difference));
  }
  if (found->all != fresh.all || found->shard != fresh.shard) {
    return absl::InvalidArgumentError(absl::StrCat(
        shard.file, ": is shard ", found->shard.index, "/", found->shard.count, " of ",
        found->all.seeds, " seeds from ", found->all.first, " on, not what was asked for"));
  }
  return found;
}

}  // namespace

absl::StatusOr<Results> ExploreShard(const Scenario& scenario, const ExploreOptions& options,
                                     const ShardOptions& shard) {
  RETURN_IF_ERROR(CheckOptions(options));
  RETURN_IF_ERROR(CheckParameters(scenario.parameters(), options.parameters));
  ASSIGN_OR_RETURN(Results results, Begin(options, shard));
  const SeedSpan part = results.part();
  const bool keep = !shard.file.empty();
  if (keep) {  // before work that cannot be kept
    RETURN_IF_ERROR(WriteResults(shard.file, results));
  }
  coro::SteadyClock clock;
  ExploreOptions block = options;
  std::uint64_t length = keep ? kFirstBlock : part.seeds;
  while (!results.complete()) {
    block.first_seed = part.first + results.done;
    block.seeds = std::min(length, part.seeds - results.done);
    block.progress = [&](std::uint64_t done) { options.progress(results.done + done); };
    const coro::Time start = clock.Now();
    ASSIGN_OR_RETURN(const ExploreReport report, Explore(scenario, block));
    results.report.Merge(report);
    results.done += block.seeds;
    if (!keep) continue;
    RETURN_IF_ERROR(WriteResults(shard.file, results));
    length = NextBlock(length, clock.Now() - start, shard.write_every);
  }
  return results;
}

}  // namespace drydock::sim::explore
