// The command line that all benchmarks share: --json, --csv, --svg, --check, --smoke,
// --rounds.

#ifndef DRYDOCK_TESTING_BENCHMARKS_OPTIONS_H_
#define DRYDOCK_TESTING_BENCHMARKS_OPTIONS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/testing/benchmarks/paired.h"
#include "drydock/testing/benchmarks/report.h"

namespace drydock::bench {

struct Options {
  bool smoke = false;    // the smallest run that touches everything; its figures mean nothing
  PairedOptions paired;  // as --rounds and --smoke say
};

// A benchmark's own part. `tick` is what MeasurePaired takes; calling it more or less often than
// `ticks` times only misleads the progress line.
using Benchmark = std::function<absl::StatusOr<Report>(const Options& options,
                                                       const std::function<void()>& tick)>;

// For main(): parses the command line, runs, prints. Returns the exit status: 1 when the benchmark
// failed, or with --check missed a goal; 2 for bad input. `what` is one sentence for --help,
// `rounds` the default of --rounds, `ticks(options)` how often tick will be called, about.
int RunMain(int argc, char** argv, const std::string& name, const std::string& what,
            std::size_t rounds, const std::function<std::size_t(const Options&)>& ticks,
            const Benchmark& benchmark);

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_OPTIONS_H_
