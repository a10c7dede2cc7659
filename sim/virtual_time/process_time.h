// The virtual time of this process, by which the functions in front of libc's go.

#ifndef DRYDOCK_SIM_VIRTUAL_TIME_PROCESS_TIME_H_
#define DRYDOCK_SIM_VIRTUAL_TIME_PROCESS_TIME_H_

#include <ctime>

#include "drydock/sim/virtual_time/virtual_time.h"

namespace drydock::sim {

// Not thread-safe. Usable before any constructor of the process has run.
class ProcessTime final : public VirtualTime {
 public:
  // 2026-01-01 00:00 UTC, when every process begins: the two clocks never show the same number.
  static constexpr std::int64_t kCalendar = 1767225600'000'000'000;
  // No process lives for more seconds.
  static constexpr std::int64_t kMostLimit = 1'000'000'000;

  static ProcessTime& Get();

  // --- VirtualTime ---
  std::int64_t now() const override { return now_; }
  void Spend(std::chrono::nanoseconds work) override { Set(now_ + work.count()); }
  void Follow(Runner* world) override { world_ = world; }
  void OnHang(void (*end)(const char* why)) override { end_ = end; }

  // The program looks at the clock, which takes 20 ns: a program that waits by looking gets there,
  // too.
  std::int64_t Look();
  // The program does nothing before `deadline`, or before something has happened that it can see.
  // False: neither is ever going to be.
  bool Wait(std::int64_t deadline);
  // The program sleeps; for ever, it hangs as soon as nothing is ever going to happen. One that has
  // slept long enough already lets others run, or a loop of such sleeps would never end.
  void Sleep(std::int64_t deadline);
  // The program has looked for something that was not there, and is going to look again. The longer
  // nothing happens, the longer a look takes: from 100 ns to 100 us.
  void LookedInVain();
  // Whether something can happen that is not the program's own doing.
  bool has_world() const { return world_ != nullptr; }
  // It waits for ever. Does not return.
  [[noreturn]] void Hang(const char* why);

  // The deadline that is `left` from now; never, where there is none.
  std::int64_t After(const timespec* left) const;

 private:
  void Set(std::int64_t now);

  std::int64_t now_ = kBegin;
  std::int64_t limit_ = 0;  // 0: not read yet
  std::int64_t step_ = kShortestLook;
  Runner* world_ = nullptr;
  void (*end_)(const char* why) = nullptr;

  static constexpr std::int64_t kShortestLook = 100;
  static constexpr std::int64_t kLongestLook = 100'000;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_VIRTUAL_TIME_PROCESS_TIME_H_
