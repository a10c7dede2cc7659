// What our libfabric backend costs over the same loop on libfabric's own calls. See
// docs/performance.md.

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/common/units.h"
#include "coro/status_macros.h"
#include "testing/benchmarks/libfabric_paths.h"
#include "testing/benchmarks/options.h"
#include "testing/benchmarks/paired.h"
#include "testing/benchmarks/report.h"
#include "testing/benchmarks/statistics.h"
#include "testing/benchmarks/write_path.h"

namespace bench {
namespace {

constexpr std::array<const char*, 2> kProviders = {"shm", "tcp"};
constexpr std::array<std::size_t, 4> kSizes = {64, 4096, 65536, 1u << 20};
constexpr std::array<std::size_t, 2> kWindows = {1, 16};  // latency, and rate
constexpr std::size_t kRounds = 10;                       // per session
constexpr double kMostTax = 1.03;

// Where objects happen to lie in memory moves a loop by per cents: each session opens everything
// anew, and the samples of all are pooled.
constexpr std::size_t kSessions = 4;

struct Pair {
  Series raw;
  Series ours;
};

std::size_t SessionsOf(const Options& options) { return options.smoke ? 1 : kSessions; }

void Append(Series& all, const Series& some) {
  all.name = some.name;
  all.nanoseconds.insert(all.nanoseconds.end(), some.nanoseconds.begin(), some.nanoseconds.end());
}

// One session of one provider: pairs[i] is of shape i.
absl::Status MeasureSession(const std::string& provider, const Buffers& buffers,
                            const std::vector<Shape>& shapes, const Options& options,
                            const std::function<void()>& tick, std::vector<Pair>& pairs) {
  ASSIGN_OR_RETURN(const auto raw, OpenRawLibfabricPath(provider, buffers));
  ASSIGN_OR_RETURN(const auto ours, OpenLibfabricBackendPath(provider, buffers));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::vector<Case> cases;
    for (WritePath* path : {raw.get(), ours.get()}) {
      RETURN_IF_ERROR(VerifyPath(*path, buffers, shapes[i]));
      cases.push_back(
          {path->name(), shapes[i].window, [path, shape = shapes[i]](std::uint64_t operations) {
             return path->Write(shape, operations);
           }});
    }
    ASSIGN_OR_RETURN(const auto series,
                     MeasurePaired(cases, options.paired, ProcessorClock(), tick));
    Append(pairs[i].raw, series[0]);
    Append(pairs[i].ours, series[1]);
  }
  return absl::OkStatus();
}

void AddRow(const std::string& provider, const Shape& shape, const Pair& pair, Report& report) {
  const Ratio ratio = Compare(pair.ours.nanoseconds, pair.raw.nanoseconds);
  const Goal goal = AtMost(absl::StrCat(provider, ", ", apps::FormatBytes(shape.bytes), ", window ",
                                        shape.window, ": cost over raw calls"),
                           ratio.median, kMostTax, 3);
  const double raw = Summarize(pair.raw.nanoseconds).median;
  const double ours = Summarize(pair.ours.nanoseconds).median;
  report.AddRow({Text(provider), Count(shape.bytes), Count(shape.window), Number(raw, 1),
                 Number(ours, 1), Number(ratio.median, 3), Number(ratio.lower_quartile, 3),
                 Number(ratio.upper_quartile, 3), Text(Verdict(goal))});
  report.AddGoal(goal);
}

absl::StatusOr<Report> Run(const Options& options, const std::function<void()>& tick) {
  Report report("layer_tax", {"provider", "bytes", "window", "raw ns/op", "ours ns/op", "ours/raw",
                              "quartile 1", "quartile 3", "goal"});
  std::vector<Shape> shapes;
  for (const std::size_t window : kWindows) {
    for (const std::size_t bytes : kSizes) shapes.push_back({bytes, window});
  }
  const Buffers buffers(kSizes.back() * kWindows.back());
  for (const std::string provider : kProviders) {
    std::vector<Pair> pairs(shapes.size());
    for (std::size_t session = 0; session < SessionsOf(options); ++session) {
      RETURN_IF_ERROR(MeasureSession(provider, buffers, shapes, options, tick, pairs));
    }
    for (std::size_t i = 0; i < shapes.size(); ++i) AddRow(provider, shapes[i], pairs[i], report);
  }
  report.AddNote(absl::StrCat(
      "A write with immediate, both completions read, one thread, one loop for both. Window 1 is "
      "latency, 16 is rate. ours/raw is the median of the ratios of each round, with their ",
      "quartiles. Goal: at most ", kMostTax, "."));
  return report;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::RunMain(
      argc, argv, "layer_tax",
      "what our libfabric backend costs over the same loop on libfabric's own calls.",
      bench::kRounds,
      [](const bench::Options& options) {
        return options.paired.rounds * bench::SessionsOf(options) * bench::kProviders.size() *
               bench::kSizes.size() * bench::kWindows.size() * 2;
      },
      bench::Run);
}
