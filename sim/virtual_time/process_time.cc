#include "drydock/sim/virtual_time/process_time.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace drydock::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kUsualLimit = 3600;

std::int64_t LimitInSeconds() {
  const char* const text = std::getenv(kLimitVariable);
  const std::int64_t limit = text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
  return limit <= 0 ? kUsualLimit : std::min(limit, ProcessTime::kMostLimit);
}

constinit ProcessTime of_process;

}  // namespace

ProcessTime& ProcessTime::Get() { return of_process; }

void ProcessTime::Set(std::int64_t now) {
  now_ = std::max(now_, now);
  if (limit_ == 0) limit_ = kBegin + LimitInSeconds() * kSecond;
  if (now_ > limit_) Hang("the program lives longer than it may (--limit)");
}

std::int64_t ProcessTime::Look() {
  Spend(std::chrono::nanoseconds(20));
  return now_;
}

bool ProcessTime::Wait(std::int64_t deadline) {
  const std::int64_t reached = world_ == nullptr ? deadline : world_->Run(deadline);
  if (reached == kNever) return false;
  Set(reached);
  return true;
}

void ProcessTime::Sleep(std::int64_t deadline) {
  if (deadline <= now_) return LookedInVain();
  while (now_ < deadline) {
    if (!Wait(deadline))
      Hang("nothing is under way in the network, and the program sleeps for ever");
  }
}

void ProcessTime::LookedInVain() {
  const std::int64_t end = now_ + step_;
  Wait(end);
  step_ = now_ < end ? kShortestLook : std::min(2 * step_, kLongestLook);
}

void ProcessTime::Hang(const char* why) {
  limit_ = kNever;  // the code that ends the process may take its time
  if (end_ != nullptr) end_(why);
  std::fprintf(stderr, "drydock-efa: hang: %s\n", why);
  std::fflush(nullptr);
  _exit(kHangs);
}

std::int64_t ProcessTime::After(const timespec* left) const {
  if (left == nullptr || left->tv_sec > kMostLimit) return kNever;
  return now_ + left->tv_sec * kSecond + left->tv_nsec;
}

}  // namespace drydock::sim

// The library in front of libibverbs asks for this by name.
extern "C" drydock::sim::VirtualTime* drydock_virtual_time() {
  return &drydock::sim::ProcessTime::Get();
}
