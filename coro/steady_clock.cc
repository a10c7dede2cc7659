#include "drydock/coro/steady_clock.h"

#include <chrono>
#include <thread>

namespace drydock::coro {

Time SteadyClock::Now() const { return Time(std::chrono::steady_clock::now().time_since_epoch()); }

bool SteadyClock::WaitUntil(Time deadline) {
  if (deadline == kNever) return false;
  std::this_thread::sleep_for(deadline - Now());
  return true;
}

}  // namespace drydock::coro
