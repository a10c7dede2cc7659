#include "drydock/testing/benchmarks/layer_session.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"
#include "drydock/testing/benchmarks/libfabric_paths.h"
#include "drydock/testing/benchmarks/paired.h"
#include "drydock/testing/benchmarks/two_threads.h"
#include "drydock/testing/harness/subprocess.h"

namespace drydock::bench {
namespace {

constexpr std::array<std::size_t, 4> kSizes = {64, 4096, 65536, 1u << 20};

// Two threads take 50 us to begin and to end together.
constexpr auto kSliceOfTwoThreads = std::chrono::milliseconds(12);

// What a session is told: the provider, the rounds, whether it is only a smoke test, and a seed.
constexpr const char* kVariable = "DRYDOCK_LAYER_SESSION";

absl::Status ByTurns(PairPath& path, const Shape& shape, std::uint64_t count) {
  return path.PingPong(shape.bytes, count);
}
absl::Status InBursts(PairPath& path, const Shape& shape, std::uint64_t count) {
  return path.WriteStream(shape.bytes, kStreamBurst, count);
}
absl::Status OneByOne(PairPath& path, const Shape& shape, std::uint64_t count) {
  return path.WriteStream(shape.bytes, 1, count);
}
absl::Status InOneThread(PairPath& path, const Shape& shape, std::uint64_t count) {
  return path.Write(shape, count);
}

constexpr std::array<Way, 5> kWays = {{
    {"latency", 1, 2, true, ByTurns},
    {"rate, bursts", kStreamSlots, kStreamSlots, true, InBursts},
    {"rate, one by one", kStreamSlots, kStreamSlots, true, OneByOne},
    {"one thread, 1", 1, 1, false, InOneThread},
    {"one thread, 16", 16, 16, false, InOneThread},
}};

absl::StatusOr<std::vector<Series>> MeasureRow(const Row& row, const std::vector<PairPath*>& paths,
                                               const Buffers& buffers, const Options& options) {
  const Shape shape{row.bytes, row.way.window};
  std::vector<Case> cases;
  for (PairPath* path : paths) {
    const auto run = [path, row, shape](std::uint64_t count) {
      return row.way.run(*path, shape, count);
    };
    RETURN_IF_ERROR(
        VerifyWrites(path->name(), buffers, shape, [&] { return run(row.way.writes); }));
    cases.push_back({path->name(), row.way.writes, run});
  }
  if (!row.way.two_threads) return MeasurePaired(cases, options.paired, ProcessorClock(), {});
  PairedOptions longer = options.paired;
  if (!options.smoke) longer.slice = kSliceOfTwoThreads;
  return MeasurePaired(cases, longer, coro::SteadyClock(), {});
}

// A line for each sample: the row, and what both took.
absl::Status MeasureSession(const std::string& provider, const Options& options) {
  const Buffers buffers(BytesForTwoThreads(kSizes.back()));
  ASSIGN_OR_RETURN(const auto raw, OpenRawLibfabricPath(provider, buffers));
  ASSIGN_OR_RETURN(const auto ours, OpenLibfabricBackendPath(provider, buffers));
  const std::vector<Row> rows = Rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSIGN_OR_RETURN(const auto series,
                     MeasureRow(rows[i], {raw.get(), ours.get()}, buffers, options));
    for (std::size_t round = 0; round < options.paired.rounds; ++round) {
      std::cout << i << ' ' << series[0].nanoseconds[round] << ' ' << series[1].nanoseconds[round]
                << '\n';
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Pair>> Parse(const std::string& text, std::size_t rounds) {
  std::vector<Pair> pairs(Rows().size());
  std::istringstream lines(text);
  std::size_t row = 0;
  double raw = 0;
  double ours = 0;
  while (lines >> row >> raw >> ours) {
    if (row >= pairs.size()) return absl::InternalError("a session told of a row too many");
    pairs[row].raw.push_back(raw);
    pairs[row].ours.push_back(ours);
  }
  for (const Pair& pair : pairs) {
    if (pair.raw.size() != rounds) return absl::InternalError("a session ended too early");
  }
  return pairs;
}

}  // namespace

std::vector<Row> Rows() {
  const std::size_t processors = Processors();
  std::vector<Row> rows;
  for (const Way& way : kWays) {
    if (way.two_threads && processors < 2) continue;
    for (const std::size_t bytes : kSizes) rows.push_back({way, bytes});
  }
  return rows;
}

absl::StatusOr<std::vector<Pair>> RunSession(const std::string& provider, const Options& options) {
  const std::string told = absl::StrCat(provider, " ", options.paired.rounds, " ",
                                        options.smoke ? 1 : 0, " ", options.paired.seed);
  ASSIGN_OR_RETURN(
      const harness::ProcessEnd end,
      harness::Subprocess::Run({"/proc/self/exe"}, {.environment = {{kVariable, told}},
                                                    .patience = std::chrono::hours(24)}));
  if (end.exit_code != 0) {
    // The last line: a provider may have said something before.
    const std::vector<std::string> lines = absl::StrSplit(end.err, '\n', absl::SkipEmpty());
    return absl::InternalError(
        lines.empty() ? absl::StrCat("a session of ", provider, " ended by signal ", end.signal)
                      : lines.back());
  }
  return Parse(end.out, options.paired.rounds);
}

std::optional<int> SessionMain() {
  const char* const told = std::getenv(kVariable);
  if (told == nullptr) return std::nullopt;
  std::istringstream words(told);
  std::string provider;
  Options options;
  words >> provider >> options.paired.rounds >> options.smoke >> options.paired.seed;
  if (!words || options.paired.rounds == 0) {
    std::cerr << kVariable << "=" << told << " is not what a session is told\n";
    return 2;
  }
  if (options.smoke) options.paired.slice = coro::Duration::zero();
  const absl::Status status = MeasureSession(provider, options);
  if (status.ok()) return 0;
  std::cerr << status.message() << '\n';
  return 1;
}

}  // namespace drydock::bench
