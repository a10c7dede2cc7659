// libc's waits, for a program that lives in virtual time: they run its world, and take no time of
// the machine's.

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "drydock/sim/virtual_time/process_time.h"

namespace {

using drydock::sim::ProcessTime;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kNever = ProcessTime::kNever;
constexpr char kNobody[] = "nothing is under way in the network, and the program waits for ever";
constexpr char kCondition[] = "the program's only thread waits for a condition";
constexpr timespec kAtOnce{};
constexpr std::size_t kMaskBytes = 8;  // of a set of signals, as the kernel has it
constexpr clockid_t kEither = -1;      // a condition's attribute says which: it is not known here

bool HasNanoseconds(const timespec& time) { return time.tv_nsec >= 0 && time.tv_nsec < kSecond; }

// As the kernel checks a time that is left; null means for ever.
bool IsWhole(const timespec& time) { return time.tv_sec >= 0 && HasNanoseconds(time); }
bool IsWhole(const timespec* left) { return left == nullptr || IsWhole(*left); }

int Fail(int error) {
  errno = error;
  return -1;
}

timespec Milliseconds(int count) {
  return {.tv_sec = count / 1000, .tv_nsec = count % 1000 * 1'000'000};
}

// When `clock` shows `time`. One of the calendar may be before the process began; a monotonic one
// may be decades ahead, and mean for ever. Of kEither, what is earlier than a year before the
// calendar's first moment is monotonic.
std::int64_t Moment(const timespec& time, clockid_t clock) {
  constexpr std::int64_t kFarthest = 9'000'000'000;
  const std::int64_t moment =
      std::clamp<std::int64_t>(time.tv_sec, 0, kFarthest) * kSecond + time.tv_nsec;
  constexpr std::int64_t kYear = 365 * 86400 * kSecond;
  const bool of_calendar = clock == CLOCK_REALTIME || clock == CLOCK_TAI ||
                           (clock == kEither && moment >= ProcessTime::kCalendar - kYear);
  return of_calendar ? moment - ProcessTime::kCalendar : moment;
}

// `look` asks the kernel what is ready: now, or, with `block`, when something is. Returns its
// result.
template <typename Look>
int AwaitReady(std::int64_t deadline, Look look) {
  ProcessTime& time = ProcessTime::Get();
  for (;;) {
    const int ready = look(false);
    if (ready != 0) return ready;
    if (deadline <= time.now()) break;
    if (time.Wait(deadline)) continue;
    // The awaited event comes from outside, or never.
    if (time.has_world()) time.Hang(kNobody);
    return look(true);
  }
  time.LookedInVain();
  return 0;
}

int Poll(pollfd* descriptors, nfds_t count, std::int64_t deadline, const sigset_t* mask) {
  return AwaitReady(deadline, [&](bool block) {
    timespec none = kAtOnce;
    return static_cast<int>(
        syscall(SYS_ppoll, descriptors, count, block ? nullptr : &none, mask, kMaskBytes));
  });
}

// Sets have the room that `count` takes: less than an fd_set, or, of a program with more files than
// that has room for, more.
int Select(int count, fd_set* sets[3], std::int64_t deadline, const sigset_t* mask) {
  constexpr int kMostFiles = 1 << 16;
  constexpr int kFilesOfWord = 64;
  std::uint64_t asked[3][kMostFiles / kFilesOfWord];
  const int words = (std::clamp(count, 0, kMostFiles) + kFilesOfWord - 1) / kFilesOfWord;
  const std::size_t bytes = static_cast<std::size_t>(words) * sizeof(std::uint64_t);
  for (int i = 0; i < 3; ++i) {
    if (sets[i] != nullptr) std::memcpy(asked[i], sets[i], bytes);
  }
  return AwaitReady(deadline, [&](bool block) {
    for (int i = 0; i < 3; ++i) {
      if (sets[i] != nullptr) std::memcpy(sets[i], asked[i], bytes);
    }
    timespec none = kAtOnce;
    const struct {
      const sigset_t* mask;
      std::size_t bytes;
    } signals{mask, kMaskBytes};
    return static_cast<int>(
        syscall(SYS_pselect6, count, sets[0], sets[1], sets[2], block ? nullptr : &none, &signals));
  });
}

int AwaitEvents(int epoll, epoll_event* events, int most, std::int64_t deadline,
                const sigset_t* mask) {
  return AwaitReady(deadline, [&](bool block) {
    return static_cast<int>(
        syscall(SYS_epoll_pwait, epoll, events, most, block ? -1 : 0, mask, kMaskBytes));
  });
}

std::int64_t In(int milliseconds) {
  if (milliseconds < 0) return kNever;
  const timespec left = Milliseconds(milliseconds);
  return ProcessTime::Get().After(&left);
}

// For a wait for another thread: EINVAL, or ETIMEDOUT at the deadline. As in libc, one before the
// clock's first second has passed.
int SleepUntil(const timespec& deadline, clockid_t clock) {
  const bool known = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == kEither;
  if (!known || !HasNanoseconds(deadline)) return EINVAL;
  ProcessTime::Get().Sleep(Moment(deadline, clock));
  return ETIMEDOUT;
}

[[noreturn]] void Hang(const char* why) { ProcessTime::Get().Hang(why); }

[[noreturn]] void RefuseThread() {
  std::fprintf(
      stderr,
      "drydock-efa: --virtual is for programs of one thread, and this one starts another\n");
  std::fflush(nullptr);
  _exit(2);
}

}  // namespace

extern "C" {

// ---- Sleep ----

int nanosleep(const timespec* duration, timespec* /*left*/) {
  if (duration == nullptr) return Fail(EFAULT);
  if (!IsWhole(*duration)) return Fail(EINVAL);
  ProcessTime& time = ProcessTime::Get();
  time.Sleep(time.After(duration));
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* when, timespec* /*left*/) {
  if (when == nullptr) return EFAULT;
  if (!IsWhole(*when)) return EINVAL;
  ProcessTime& time = ProcessTime::Get();
  time.Sleep((flags & TIMER_ABSTIME) != 0 ? Moment(*when, clock) : time.After(when));
  return 0;
}

int usleep(useconds_t microseconds) {
  ProcessTime& time = ProcessTime::Get();
  time.Sleep(time.now() + std::int64_t{microseconds} * 1000);
  return 0;
}

unsigned sleep(unsigned seconds) {
  ProcessTime& time = ProcessTime::Get();
  time.Sleep(time.now() + std::int64_t{seconds} * kSecond);
  return 0;
}

// A thread that lets others run waits for their work.
int sched_yield() {
  ProcessTime::Get().LookedInVain();
  return 0;
}

// ---- Descriptors ----

int poll(pollfd* descriptors, nfds_t count, int milliseconds) {
  return Poll(descriptors, count, In(milliseconds), nullptr);
}

// As poll is called by programs that are built with _FORTIFY_SOURCE.
int __poll_chk(pollfd* descriptors, nfds_t count, int milliseconds, std::size_t /*bytes*/) {
  return Poll(descriptors, count, In(milliseconds), nullptr);
}

int ppoll(pollfd* descriptors, nfds_t count, const timespec* left, const sigset_t* mask) {
  if (!IsWhole(left)) return Fail(EINVAL);
  return Poll(descriptors, count, ProcessTime::Get().After(left), mask);
}

int select(int count, fd_set* reads, fd_set* writes, fd_set* errors, timeval* left) {
  fd_set* sets[] = {reads, writes, errors};
  if (left == nullptr) return Select(count, sets, kNever, nullptr);
  if (left->tv_sec < 0 || left->tv_usec < 0) return Fail(EINVAL);
  // More microseconds than a second has are no error of select's.
  constexpr std::int64_t kMicroseconds = 1'000'000;
  const std::int64_t seconds =
      std::min<std::int64_t>(left->tv_sec, ProcessTime::kMostLimit + 1) +  // which is for ever
      left->tv_usec / kMicroseconds;
  const timespec exact{.tv_sec = seconds, .tv_nsec = left->tv_usec % kMicroseconds * 1000};
  const ProcessTime& time = ProcessTime::Get();
  const std::int64_t deadline = time.After(&exact);
  const int ready = Select(count, sets, deadline, nullptr);
  if (deadline == kNever) return ready;
  // As Linux does: a program may go on to wait for the rest.
  const std::int64_t rest = std::max<std::int64_t>(deadline - time.now(), 0);
  *left = {.tv_sec = rest / kSecond, .tv_usec = rest % kSecond / 1000};
  return ready;
}

int pselect(int count, fd_set* reads, fd_set* writes, fd_set* errors, const timespec* left,
            const sigset_t* mask) {
  if (!IsWhole(left)) return Fail(EINVAL);
  fd_set* sets[] = {reads, writes, errors};
  return Select(count, sets, ProcessTime::Get().After(left), mask);
}

int epoll_wait(int epoll, epoll_event* events, int most, int milliseconds) {
  return AwaitEvents(epoll, events, most, In(milliseconds), nullptr);
}

int epoll_pwait(int epoll, epoll_event* events, int most, int milliseconds, const sigset_t* mask) {
  return AwaitEvents(epoll, events, most, In(milliseconds), mask);
}

int epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* left,
                 const sigset_t* mask) {
  if (!IsWhole(left)) return Fail(EINVAL);
  return AwaitEvents(epoll, events, most, ProcessTime::Get().After(left), mask);
}

// The same for ppoll.
int __ppoll_chk(pollfd* descriptors, nfds_t count, const timespec* left, const sigset_t* mask,
                std::size_t /*bytes*/) {
  return ppoll(descriptors, count, left, mask);
}

// Its descriptor would go by the machine's clock.
int timerfd_create(int /*clock*/, int /*flags*/) {
  std::fprintf(stderr, "drydock-efa: timerfd_create: not in virtual time (ENOSYS)\n");
  return Fail(ENOSYS);
}

// ---- Conditions and semaphores: there is no other thread that could see to them ----

int pthread_cond_wait(pthread_cond_t* /*condition*/, pthread_mutex_t* /*mutex*/) {
  Hang(kCondition);
}
int cnd_wait(cnd_t* /*condition*/, mtx_t* /*mutex*/) { Hang(kCondition); }

int pthread_cond_timedwait(pthread_cond_t* /*condition*/, pthread_mutex_t* /*mutex*/,
                           const timespec* deadline) {
  return SleepUntil(*deadline, kEither);
}

int pthread_cond_clockwait(pthread_cond_t* /*condition*/, pthread_mutex_t* /*mutex*/,
                           clockid_t clock, const timespec* deadline) {
  return SleepUntil(*deadline, clock);
}

int cnd_timedwait(cnd_t* /*condition*/, mtx_t* /*mutex*/, const timespec* deadline) {
  return SleepUntil(*deadline, CLOCK_REALTIME) == ETIMEDOUT ? thrd_timedout : thrd_error;
}

int sem_wait(sem_t* semaphore) {
  if (sem_trywait(semaphore) == 0) return 0;
  Hang("the program's only thread waits for a semaphore");
}

int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* deadline) {
  if (sem_trywait(semaphore) == 0) return 0;
  return Fail(SleepUntil(*deadline, clock));
}

int sem_timedwait(sem_t* semaphore, const timespec* deadline) {
  return sem_clockwait(semaphore, CLOCK_REALTIME, deadline);
}

// ---- Threads ----

int pthread_create(pthread_t* /*thread*/, const pthread_attr_t* /*attributes*/,
                   void* (* /*run*/)(void*), void* /*argument*/) {
  RefuseThread();
}

int thrd_create(thrd_t* /*thread*/, thrd_start_t /*run*/, void* /*argument*/) { RefuseThread(); }

int thrd_sleep(const timespec* duration, timespec* left) {
  return nanosleep(duration, left) == 0 ? 0 : -2;  // -1 is a signal's
}

void thrd_yield() { sched_yield(); }

}  // extern "C"
