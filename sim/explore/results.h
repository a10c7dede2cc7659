// The results of a shard so far, as a file that is whole at any moment: it is written beside its
// place, forced to the disk and renamed, and starts with a checksum. A process that is killed loses
// its results since it wrote the file, and nothing else.
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
  std::uint64_t done = 0;  // of the shard's seeds: the first ones
  // Of those. Failures and first results without their rules, waits and coverage, which no report
  // of many seeds tells.
  ExploreReport report;

  SeedSpan part() const { return PartOf(all, shard); }
  bool complete() const { return done == part().seeds; }
};

std::string FormatResults(const Results& results);

// kInvalidArgument, in one line: cut, changed, or nothing that FormatResults writes.
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
