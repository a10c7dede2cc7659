// libc's clocks, for a program that lives in virtual time.

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "drydock/sim/virtual_time/process_time.h"

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

timespec Split(std::int64_t time) { return {.tv_sec = time / kSecond, .tv_nsec = time % kSecond}; }

std::int64_t Calendar() {
  return drydock::sim::ProcessTime::kCalendar + drydock::sim::ProcessTime::Get().Look();
}

}  // namespace

extern "C" {

// A processor is busy all the time: its clocks show the same as those of the wall.
int clock_gettime(clockid_t clock, timespec* time) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
      *time = Split(Calendar());
      return 0;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID:
      *time = Split(drydock::sim::ProcessTime::Get().Look());
      return 0;
    default:
      return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  }
}

int timespec_get(timespec* time, int base) {
  if (base != TIME_UTC) return 0;
  *time = Split(Calendar());
  return base;
}

int gettimeofday(timeval* time, void* zone) {
  if (zone != nullptr) *static_cast<struct timezone*>(zone) = {};
  const timespec now = Split(Calendar());
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* time) {
  const time_t now = Calendar() / kSecond;
  if (time != nullptr) *time = now;
  return now;
}

clock_t clock() { return drydock::sim::ProcessTime::Get().Look() / (kSecond / CLOCKS_PER_SEC); }

}  // extern "C"
