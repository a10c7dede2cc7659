// The results of a shard so far, in a file that is complete at every moment: it starts with a
// checksum, and each version is written to a temporary file, synced and renamed. A process that is
// killed loses only its results since the last write.
//
//   drydock-results 1 c0f1d7a2be0c5a11 5213       version, FNV-1a of what follows, its bytes
//   {"sweep":{"scenario":"write",...},"first_seed":1,...,"report":{...}}

#ifndef DRYDOCK_SIM_EXPLORE_RESULTS_H_
#define DRYDOCK_SIM_EXPLORE_RESULTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/explore/explorer.h"
#include "drydock/sim/explore/shard.h"

namespace drydock::sim::explore {

// The options that decide a seed's result beside the seed, in words of the caller that started it:
// "scenario", "faults", ... Shards whose words differ are not of one sweep.
using SweepWords = std::map<std::string, std::string>;

struct Results {
  static constexpr std::size_t kMostBytes = 64 << 20;  // of a file

  SweepWords sweep;
  SeedSpan all;  // of the whole sweep
  Shard shard;
  std::uint64_t done = 0;  // how many of the shard's seeds have run, from its first on
  // The report on those seeds. Its failures and first results have no rules, waits and coverage,
  // because a report on many seeds does not show them.
  ExploreReport report;

  SeedSpan part() const { return PartOf(all, shard); }
  bool complete() const { return done == part().seeds; }
};

std::string FormatResults(const Results& results);

// kInvalidArgument, in one line: the text is truncated or altered, or FormatResults did not write
// it.
absl::StatusOr<Results> ParseResults(absl::string_view text);

// A file. Messages begin with the path. kNotFound: there is none; kInvalidArgument: it is damaged,
// or no file of results.
absl::StatusOr<Results> ReadResults(const std::string& path);

// Replaces the file, in one step. kInvalidArgument: it cannot be written; the one before stays.
absl::Status WriteResults(const std::string& path, const Results& results);

// The first word in which two sweeps differ, "faults: swarm, none"; empty: they are the same.
std::string DifferenceOf(const SweepWords& a, const SweepWords& b);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_RESULTS_H_
