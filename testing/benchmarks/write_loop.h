// The loop of a program that writes and waits, written once: whoever is measured against whom, the
// program around them is the same.

#ifndef TESTING_BENCHMARKS_WRITE_LOOP_H_
#define TESTING_BENCHMARKS_WRITE_LOOP_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "coro/steady_clock.h"
#include "testing/benchmarks/write_path.h"

namespace bench {

enum class PostOutcome { kPosted, kAgain, kFailed };

// What a poll of one queue found.
struct PollOutcome {
  std::size_t completions = 0;
  std::uint64_t immediates = 0;  // their sum
  bool failed = false;
};

// Ends has, all of them inlined here:
//   PostOutcome Post(std::size_t slot, std::size_t bytes);  with the slot as the immediate
//   PollOutcome PollInitiator();
//   PollOutcome PollTarget();
//   void Idle();                         nothing was there: lets time pass, where it does not by
//                                        itself
//   absl::Status error();                why something failed
// The sum of the immediates proves that the completions are those of these writes.
template <typename Ends>
absl::Status WriteInWindows(Ends& ends, const Shape& shape, std::uint64_t count) {
  constexpr std::uint64_t kPatiencePolls = 1u << 20;  // in vain, between two looks at the clock
  constexpr auto kPatience = std::chrono::seconds(20);
  const coro::SteadyClock clock;
  const std::size_t window = shape.window;
  const std::size_t bytes = shape.bytes;
  for (std::uint64_t done = 0; done < count; done += window) {
    std::size_t posted = 0;
    std::size_t sent = 0;
    std::size_t arrived = 0;
    std::uint64_t immediates = 0;
    std::uint64_t in_vain = 0;
    coro::Time give_up = coro::kNever;
    while (sent < window || arrived < window) {
      if (posted < window) {
        const PostOutcome outcome = ends.Post(posted, bytes);
        if (outcome == PostOutcome::kFailed) [[unlikely]]
          return ends.error();
        if (outcome == PostOutcome::kPosted) {
          ++posted;
          continue;
        }
      }
      const PollOutcome initiator = ends.PollInitiator();
      const PollOutcome target = ends.PollTarget();
      if (initiator.failed || target.failed) [[unlikely]]
        return ends.error();
      sent += initiator.completions;
      arrived += target.completions;
      immediates += target.immediates;
      if (initiator.completions + target.completions > 0) continue;
      ends.Idle();
      if (++in_vain % kPatiencePolls != 0) continue;
      if (give_up == coro::kNever) give_up = clock.Now() + kPatience;
      if (clock.Now() > give_up) {
        return absl::DeadlineExceededError(
            absl::StrCat("of ", window, " writes of ", bytes, " B, ", posted, " were posted, ",
                         sent, " completed at the initiator and ", arrived, " at the target"));
      }
    }
    if (immediates != window * (window - 1) / 2) [[unlikely]] {
      return absl::DataLossError("the immediates that arrived are not those that were sent");
    }
  }
  return absl::OkStatus();
}

}  // namespace bench

#endif  // TESTING_BENCHMARKS_WRITE_LOOP_H_
