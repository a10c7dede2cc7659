// A session of two_processes: one provider between two processes that are forked for it, and every
// row measured once.

#ifndef DRYDOCK_TESTING_BENCHMARKS_PROCESS_SESSION_H_
#define DRYDOCK_TESTING_BENCHMARKS_PROCESS_SESSION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace drydock::bench {

// What a session measures, in the order of the table.
enum class Way : std::uint8_t { kMessages, kWrites, kLargeWrites, kSleep };
inline constexpr std::array kWays = {Way::kMessages, Way::kWrites, Way::kLargeWrites, Way::kSleep};

// Bytes of a message or write of the first two ways, and of the third.
inline constexpr std::size_t kShortBytes = 64;
inline constexpr std::size_t kLongBytes = 1u << 20;

// One figure for each of kWays: microseconds of half a round trip, twice; microseconds of one write
// of a stream; the part of a processor that the busier of both processes took while both slept.
using Figures = std::array<double, kWays.size()>;

// One session, in processes of its own: this program once more, started by `launcher`, a command
// with its flags that ends with the program; empty: started directly. A smoke test does as little as
// touches everything. kInternal: it failed, with its last line on standard error, or by which signal.
absl::StatusOr<Figures> RunSession(const std::string& provider,
                                   const std::vector<std::string>& launcher, bool smoke);

// For main(), first of all: when this process is a session, runs it, and returns its exit status.
std::optional<int> SessionMain();

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_PROCESS_SESSION_H_
