// What our libfabric backend costs over the same loop on libfabric's own calls. See
// docs/performance.md.

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/testing/benchmarks/layer_session.h"
#include "drydock/testing/benchmarks/options.h"
#include "drydock/testing/benchmarks/report.h"
#include "drydock/testing/benchmarks/statistics.h"
#include "drydock/testing/benchmarks/two_threads.h"

namespace drydock::bench {
namespace {

constexpr std::array<const char*, 2> kProviders = {"shm", "tcp"};
constexpr std::size_t kRounds = 4;  // per session
constexpr double kMostTax = 1.03;

// Where code and objects happen to lie in memory moves a loop by per cents, and decides whether two
// threads get into each other's way, for as long as a process lives: the samples of many are
// pooled.
constexpr std::size_t kSessions = 24;

std::size_t SessionsOf(const Options& options) { return options.smoke ? 1 : kSessions; }

// Of one session of one provider.
std::size_t SamplesOf(const Options& options) { return options.paired.rounds * Rows().size() * 2; }

void Append(std::vector<double>& all, const std::vector<double>& some) {
  all.insert(all.end(), some.begin(), some.end());
}

absl::StatusOr<std::vector<Pair>> Measure(const std::string& provider, const Options& options,
                                          const std::function<void()>& tick) {
  std::vector<Pair> all(Rows().size());
  for (std::size_t session = 0; session < SessionsOf(options); ++session) {
    Options of_session = options;
    of_session.paired.seed += session;
    ASSIGN_OR_RETURN(const std::vector<Pair> pairs, RunSession(provider, of_session));
    for (std::size_t i = 0; i < all.size(); ++i) {
      Append(all[i].raw, pairs[i].raw);
      Append(all[i].ours, pairs[i].ours);
    }
    for (std::size_t sample = 0; sample < SamplesOf(options); ++sample) tick();
  }
  return all;
}

void AddRow(const std::string& provider, const Row& row, const Pair& pair, Report& report) {
  const Ratio ratio = Compare(pair.ours, pair.raw);
  const Goal goal = AtMost(absl::StrCat(provider, ", ", apps::FormatBytes(row.bytes), ", ",
                                        row.way.name, ": cost over raw calls"),
                           ratio.median, kMostTax, 3);
  report.AddGoal(goal);
  report.AddRow({Text(provider), Count(row.bytes), Text(row.way.name),
                 Number(Summarize(pair.raw).median, 1), Number(Summarize(pair.ours).median, 1),
                 Number(ratio.median, 3), Number(ratio.lower_quartile, 3),
                 Number(ratio.upper_quartile, 3), Text(Verdict(goal))});
}

void AddNotes(Report& report) {
  report.AddNote(absl::StrCat(
      "Writes with immediate, the same loops for both. latency: between two threads, half of a ",
      "ping-pong. rate: between two threads, ", kStreamSlots, " under way, each ", kStreamBurst,
      " acknowledged, posted in bursts of as many, or one by one. one thread: time of the ",
      "processor for both ends, one write at a time or 16, both completions read. ours/raw is the ",
      "median of the ratios of each round, with their quartiles. Goal: at most ", kMostTax, "."));
  if (Processors() >= 2) return;
  report.AddNote(
      "Latency and rate are between two threads, and were left out: this program may use "
      "one processor only.");
  report.AddGoal({.name = "latency and rate", .limit = absl::StrCat("at most ", kMostTax)});
}

absl::StatusOr<Report> Run(const Options& options, const std::function<void()>& tick) {
  Report report("layer_tax", {"provider", "bytes", "how", "raw ns/op", "ours ns/op", "ours/raw",
                              "quartile 1", "quartile 3", "goal"});
  const std::vector<Row> rows = Rows();
  for (const std::string provider : kProviders) {
    ASSIGN_OR_RETURN(const std::vector<Pair> pairs, Measure(provider, options, tick));
    for (std::size_t i = 0; i < rows.size(); ++i) AddRow(provider, rows[i], pairs[i], report);
  }
  AddNotes(report);
  return report;
}

}  // namespace
}  // namespace drydock::bench

int main(int argc, char** argv) {
  if (const auto status = drydock::bench::SessionMain()) return *status;
  return drydock::bench::RunMain(
      argc, argv, "layer_tax",
      "what our libfabric backend costs over the same loop on libfabric's own calls.",
      drydock::bench::kRounds,
      [](const drydock::bench::Options& options) {
        return drydock::bench::SessionsOf(options) * drydock::bench::kProviders.size() *
               drydock::bench::SamplesOf(options);
      },
      drydock::bench::Run);
}
