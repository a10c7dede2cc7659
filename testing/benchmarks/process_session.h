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

// One figure for each of kWays. Messages and writes: microseconds of half a round trip. Large
// writes: microseconds of one write of a stream. Sleep: the share of a processor that the busier
// process used while both slept.
using Figures = std::array<double, kWays.size()>;

// Runs one session: starts this program again, as the last argument of the command `launcher`, or
// directly if that is empty. `smoke`: measures as little as still runs every row. kInternal: the
// session failed; the message is its last line on standard error, or names the signal.
absl::StatusOr<Figures> RunSession(const std::string& provider,
                                   const std::vector<std::string>& launcher, bool smoke);

// For main(), first of all: when this process is a session, runs it, and returns its exit status.
std::optional<int> SessionMain();

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_PROCESS_SESSION_H_
