#include "drydock/testing/benchmarks/two_threads.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "drydock/coro/steady_clock.h"

namespace drydock::bench {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

// Of the names of `count` writes whose slots go round.
std::uint64_t SumOfNames(std::uint64_t count, std::uint64_t slots) {
  const std::uint64_t rest = count % slots;
  return count / slots * (slots * (slots - 1) / 2) + rest * (rest - 1) / 2;
}

}  // namespace

bool Patience::LookUp() {
  if (over_.load(std::memory_order_relaxed)) return true;
  const coro::Time now = coro::SteadyClock().Now();
  if (give_up_ == coro::kNever) give_up_ = now + kPatience;
  return now > give_up_;
}

absl::Status Tally::Check(const Expected& expected) const {
  if (sent() != expected.sent || sent_.names != SumOfNames(sent(), expected.sent_slots)) {
    return absl::DataLossError("the contexts that completed are not those that were posted");
  }
  const bool told = arrived_.bytes != 0;  // tcp does not tell
  if (arrived() != expected.arrived ||
      arrived_.names != SumOfNames(arrived(), expected.arrived_slots) ||
      (told && arrived_.bytes != arrived() * expected.arrived_bytes)) {
    return absl::DataLossError(
        "the immediates or lengths that arrived are not those that were sent");
  }
  return absl::OkStatus();
}

absl::Status Tally::Incomplete() const {
  return absl::DeadlineExceededError(absl::StrCat(
      "nothing comes any more: ", sent(), " writes completed here, ", arrived(), " arrived"));
}

absl::Status InTwoThreads(const Side& here, const Side& there) {
  std::atomic<bool> over{false};
  // The first failure, because the other side's follows from it.
  std::atomic<const absl::Status*> first{nullptr};
  const auto run = [&](const Side& side, absl::Status& status) {
    status = side(over);
    if (status.ok()) return;
    const absl::Status* none = nullptr;
    first.compare_exchange_strong(none, &status);
    over.store(true, std::memory_order_relaxed);
  };
  absl::Status of_here;
  absl::Status of_there;
  std::thread thread([&] { run(there, of_there); });
  run(here, of_here);
  thread.join();
  const absl::Status* const failed = first.load();
  return failed == nullptr ? absl::OkStatus() : *failed;
}

std::size_t Processors() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return static_cast<std::size_t>(CPU_COUNT(&set));
#endif
  return std::thread::hardware_concurrency();
}

}  // namespace drydock::bench
