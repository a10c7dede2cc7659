// The loop of a program that writes and waits, written once: for every pair that is compared, the
// program around them is the same.

#ifndef DRYDOCK_TESTING_BENCHMARKS_WRITE_LOOP_H_
#define DRYDOCK_TESTING_BENCHMARKS_WRITE_LOOP_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/testing/benchmarks/write_path.h"

namespace drydock::bench {

enum class PostOutcome { kPosted, kAgain, kFailed };

// What polls of one queue have found so far.
struct Found {
  std::size_t completions = 0;
  // Sum of what names their writes: at the initiator its own contexts, at the target the
  // immediates.
  std::uint64_t names = 0;
  std::uint64_t bytes = 0;  // at the target: what was written there, as the completions tell
};

// Ends has, all of them inlined here:
//   PostOutcome Post(std::size_t slot, std::size_t bytes);  the slot as context and as immediate
//   bool PollInitiator(Found& found);    adds to it; false: a completion failed, or is of another
//   bool PollTarget(Found& found);       kind than a write
//   void Idle();                         nothing was there: lets time pass, where it does not by
//                                        itself
//   absl::Status error();                why something failed
// The sums prove that the completions are those of these writes. All Ends have to look at all that
// a completion tells, as a program does: whether it is a failure, its kind, context, immediate,
// length.
template <typename Ends>
absl::Status WriteInWindows(Ends& ends, const Shape& shape, std::uint64_t count) {
  constexpr std::uint64_t kPatiencePolls = 1u << 20;  // in vain, between two looks at the clock
  constexpr auto kPatience = std::chrono::seconds(20);
  const coro::SteadyClock clock;
  const std::size_t window = shape.window;
  const std::size_t bytes = shape.bytes;
  for (std::uint64_t done = 0; done < count; done += window) {
    std::size_t posted = 0;
    Found sent;
    Found arrived;
    std::uint64_t in_vain = 0;
    coro::Time give_up = coro::kNever;
    while (sent.completions < window || arrived.completions < window) {
      if (posted < window) {
        const PostOutcome outcome = ends.Post(posted, bytes);
        if (outcome == PostOutcome::kFailed) [[unlikely]]
          return ends.error();
        if (outcome == PostOutcome::kPosted) {
          ++posted;
          continue;
        }
      }
      const std::size_t before = sent.completions + arrived.completions;
      if (!ends.PollInitiator(sent) || !ends.PollTarget(arrived)) [[unlikely]]
        return ends.error();
      if (sent.completions + arrived.completions > before) continue;
      ends.Idle();
      if (++in_vain % kPatiencePolls != 0) continue;
      if (give_up == coro::kNever) give_up = clock.Now() + kPatience;
      if (clock.Now() > give_up) {
        return absl::DeadlineExceededError(absl::StrCat(
            "of ", window, " writes of ", bytes, " B, ", posted, " were posted, ", sent.completions,
            " completed at the initiator and ", arrived.completions, " at the target"));
      }
    }
    const std::uint64_t names = window * (window - 1) / 2;
    const bool told = arrived.bytes != 0;  // tcp does not tell
    if (arrived.completions != window || arrived.names != names ||
        (told && arrived.bytes != window * bytes)) [[unlikely]] {
      return absl::DataLossError(
          "the immediates or lengths that arrived are not those that were sent");
    }
    if (sent.completions != window || sent.names != names) [[unlikely]] {
      return absl::DataLossError("the contexts that completed are not those that were posted");
    }
  }
  return absl::OkStatus();
}

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_WRITE_LOOP_H_
