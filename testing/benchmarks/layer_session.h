// A session of layer_tax: one provider opened twice, by raw calls and by our backend, and every row
// of both measured by turns.

#ifndef DRYDOCK_TESTING_BENCHMARKS_LAYER_SESSION_H_
#define DRYDOCK_TESTING_BENCHMARKS_LAYER_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/testing/benchmarks/options.h"
#include "drydock/testing/benchmarks/path_of_ends.h"
#include "drydock/testing/benchmarks/write_path.h"

namespace drydock::bench {

// How the writes are made: a row has this beside its provider and size.
struct Way {
  const char* name;
  std::size_t window;    // slots that the least run fills
  std::uint64_t writes;  // of the least run
  bool two_threads;      // it takes time of the wall
  absl::Status (*run)(PairPath& path, const Shape& shape, std::uint64_t count);
};

struct Row {
  Way way;
  std::size_t bytes;
};

// All rows of a provider, in the order of the table. Those of two threads only where the program
// may use two processors.
std::vector<Row> Rows();

// Nanoseconds of one write, the samples of each round beside one another.
struct Pair {
  std::vector<double> raw;
  std::vector<double> ours;
};

// One session in a process of its own: pairs[i] is of Rows()[i]. The process is this program once
// more, and every one of them lies elsewhere in memory. kInternal: it failed, with its last line on
// standard error, or by which signal.
absl::StatusOr<std::vector<Pair>> RunSession(const std::string& provider, const Options& options);

// For main(), first of all: when this process is a session, runs it, and returns its exit status.
std::optional<int> SessionMain();

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_LAYER_SESSION_H_
