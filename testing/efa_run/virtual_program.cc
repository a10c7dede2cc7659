// A program for efa-run --virtual that does what its argument says: "waits" waits in every way, and
// prints what it drew; "hangs" waits for what never comes, "reads-in-vain" looks for it, and
// "polls-at-the-end" looks once when 5 s are over; "ages-HOW" waits for decades in one way; "odd"
// fails with every other seed; "starts-thread", "starts-c-thread" and "forks" do what is refused.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <string_view>
#include <thread>

namespace {

using namespace std::chrono_literals;

int failures = 0;

ibv_context* OpenDevice() {
  ibv_device** const devices = ibv_get_device_list(nullptr);
  ibv_context* const context = devices == nullptr ? nullptr : ibv_open_device(devices[0]);
  ibv_free_device_list(devices);
  return context;
}

// Waits for 100 s by `wait`, and looks how long that was.
void Expect(const char* name, const std::function<void()>& wait) {
  const auto before = std::chrono::steady_clock::now();
  const time_t calendar = time(nullptr);
  wait();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  const time_t passed = time(nullptr) - calendar;
  if (took.count() >= 100 && took.count() < 100.01 && passed >= 100 && passed <= 101) return;
  std::printf("%s took %.3f s, and %ld s of the calendar\n", name, took.count(), passed);
  ++failures;
}

void Wait() {
  Expect("sleep", [] { sleep(100); });
  Expect("usleep", [] { usleep(100'000'000); });
  Expect("sleep_for", [] { std::this_thread::sleep_for(100s); });
  Expect("clock_nanosleep", [] {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 100;
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, nullptr);
  });
  Expect("poll", [] { poll(nullptr, 0, 100'000); });
  Expect("select", [] {
    timeval left{.tv_sec = 100, .tv_usec = 0};
    select(0, nullptr, nullptr, nullptr, &left);
  });
  Expect("select with what is left", [] {
    timeval left{.tv_sec = 100, .tv_usec = 0};
    while (left.tv_sec > 0 || left.tv_usec > 0) select(0, nullptr, nullptr, nullptr, &left);
  });
  Expect("epoll_wait", [] {
    const int epoll = epoll_create1(0);
    epoll_event event;
    epoll_wait(epoll, &event, 1, 100'000);
    close(epoll);
  });
  Expect("thrd_sleep", [] {
    const timespec duration{.tv_sec = 100, .tv_nsec = 0};
    thrd_sleep(&duration, nullptr);
  });
  Expect("sem_timedwait", [] {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 100;
    if (sem_timedwait(&semaphore, &until) == 0 || errno != ETIMEDOUT) ++failures;
  });
  Expect("pthread_cond_timedwait", [] {
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 100;
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&condition, &mutex, &until) == 0) {
    }
    pthread_mutex_unlock(&mutex);
  });
}

timespec In(clockid_t clock, time_t seconds) {
  timespec time{};
  clock_gettime(clock, &time);
  time.tv_sec += seconds;
  return time;
}

int AwaitCondition(clockid_t clock, const timespec& until) {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  const int result = pthread_cond_clockwait(&condition, &mutex, clock, &until);
  pthread_mutex_unlock(&mutex);
  return result;
}

int AwaitSemaphore(clockid_t clock, const timespec& until) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  return sem_clockwait(&semaphore, clock, &until) == 0 ? 0 : errno;
}

void WaitByTheClockThatIsNamed() {
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    Expect("pthread_cond_clockwait", [clock] {
      if (AwaitCondition(clock, In(clock, 100)) != ETIMEDOUT) ++failures;
    });
    Expect("sem_clockwait", [clock] {
      if (AwaitSemaphore(clock, In(clock, 100)) != ETIMEDOUT) ++failures;
    });
  }
}

// Programs that mean for ever by it. Returns only where the wait was over.
void WaitForAges(std::string_view how) {
  constexpr time_t kAges = 40LL * 365 * 86400;
  const timespec until = In(CLOCK_MONOTONIC, kAges);
  if (how == "condition") AwaitCondition(CLOCK_MONOTONIC, until);
  if (how == "semaphore") AwaitSemaphore(CLOCK_MONOTONIC, until);
  if (how == "moment") clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  if (how == "attribute") {
    pthread_condattr_t attribute;
    pthread_condattr_init(&attribute);
    pthread_condattr_setclock(&attribute, CLOCK_MONOTONIC);
    pthread_cond_t condition;
    pthread_cond_init(&condition, &attribute);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&condition, &mutex, &until);
  }
  if (how == "sleep") {
    const timespec duration{.tv_sec = kAges, .tv_nsec = 0};
    nanosleep(&duration, nullptr);
  }
}

// A deadline that has passed, even before the process began, is no reason to wait.
void WaitForThePast() {
  const auto before = std::chrono::steady_clock::now();
  timespec past{};
  clock_gettime(CLOCK_REALTIME, &past);
  past.tv_sec -= 3600;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  if (pthread_cond_timedwait(&condition, &mutex, &past) != ETIMEDOUT) ++failures;
  pthread_mutex_unlock(&mutex);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  if (sem_timedwait(&semaphore, &past) == 0 || errno != ETIMEDOUT) ++failures;
  if (AwaitCondition(CLOCK_REALTIME, past) != ETIMEDOUT) ++failures;
  if (AwaitSemaphore(CLOCK_REALTIME, past) != ETIMEDOUT) ++failures;
  clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &past, nullptr);
  if (std::chrono::steady_clock::now() - before > 1s) ++failures;
}

void Check(const char* name, bool is_right) {
  if (is_right) return;
  std::printf("%s: errno %d\n", name, errno);
  ++failures;
}

// A time that is none is told as the kernel and libc tell it, and nothing is waited for.
void WaitForNoTime() {
  const auto before = std::chrono::steady_clock::now();
  const auto is = [](int result, int error) { return result == -1 && errno == error; };
  sem_t none;
  sem_init(&none, 0, 0);
  const int epoll = epoll_create1(0);
  epoll_event event;
  const timespec wrong[] = {{.tv_sec = -1, .tv_nsec = 0},
                            {.tv_sec = 0, .tv_nsec = -1},
                            {.tv_sec = 0, .tv_nsec = 1'000'000'000}};
  for (const timespec& time : wrong) {
    Check("nanosleep", is(nanosleep(&time, nullptr), EINVAL));
    Check("clock_nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr) == EINVAL);
    Check("clock_nanosleep until",
          clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, nullptr) == EINVAL);
    Check("ppoll", is(ppoll(nullptr, 0, &time, nullptr), EINVAL));
    Check("pselect", is(pselect(0, nullptr, nullptr, nullptr, &time, nullptr), EINVAL));
    Check("epoll_pwait2", is(epoll_pwait2(epoll, &event, 1, &time, nullptr), EINVAL));
    // A moment may be before the clock's first.
    const int moment = time.tv_sec < 0 ? ETIMEDOUT : EINVAL;
    Check("sem_timedwait", is(sem_timedwait(&none, &time), moment));
    Check("pthread_cond_clockwait", AwaitCondition(CLOCK_MONOTONIC, time) == moment);
  }
  Check("sem_clockwait", AwaitSemaphore(CLOCK_BOOTTIME, {}) == EINVAL);
  Check("nanosleep of null", is(nanosleep(nullptr, nullptr), EFAULT));
  Check("clock_nanosleep of null", clock_nanosleep(CLOCK_MONOTONIC, 0, nullptr, nullptr) == EFAULT);
  for (timeval time : {timeval{.tv_sec = -1, .tv_usec = 0}, timeval{.tv_sec = 0, .tv_usec = -1}}) {
    Check("select", is(select(0, nullptr, nullptr, nullptr, &time), EINVAL));
  }
  Check("the waits for no time", std::chrono::steady_clock::now() - before < 1s);
  Expect("select of many microseconds", [] {
    timeval time{.tv_sec = 0, .tv_usec = 100'000'000};
    select(0, nullptr, nullptr, nullptr, &time);
  });
  close(epoll);
}

// select looks twice at a set that has room for more files than an fd_set: what it awaits comes
// from another process, by the machine's clock. No device may be open.
void WaitForHighFile() {
  constexpr int kFile = 1500;
  int files[2];
  rlimit most{};
  getrlimit(RLIMIT_NOFILE, &most);
  if (most.rlim_max <= kFile || pipe(files) != 0) return;
  most.rlim_cur = most.rlim_max;
  setrlimit(RLIMIT_NOFILE, &most);
  Check("dup2", dup2(files[0], kFile) == kFile);
  const pid_t child = fork();
  if (child == 0) {
    const timespec moment{.tv_sec = 0, .tv_nsec = 200'000'000};
    syscall(SYS_nanosleep, &moment, nullptr);
    _exit(write(files[1], "", 1) == 1 ? 0 : 1);
  }
  std::array<std::uint64_t, 64> set{};
  set[kFile / 64] = std::uint64_t{1} << kFile % 64;
  auto* const named = reinterpret_cast<fd_set*>(set.data());
  timeval left{.tv_sec = std::numeric_limits<std::int32_t>::max(), .tv_usec = 0};  // for ever
  Check("select of a file above an fd_set",
        select(kFile + 1, named, nullptr, nullptr, &left) == 1 && set[kFile / 64] != 0);
  waitpid(child, nullptr, 0);
  for (const int file : {files[0], files[1], kFile}) close(file);
}

std::uint32_t FromFile(int file) {
  std::uint32_t number = 0;
  if (read(file, &number, sizeof number) != sizeof number) ++failures;
  close(file);
  return number;
}

void Draw() {
  std::uint32_t system = 0;
  if (getrandom(&system, sizeof system, 0) != sizeof system) ++failures;
  std::array<char, 257> too_many;
  Check("getentropy", getentropy(too_many.data(), too_many.size()) == -1 && errno == EIO);
  std::printf("drew %x, %x, ", FromFile(open("/dev/urandom", O_RDONLY)),
              FromFile(openat(AT_FDCWD, "/dev/random", O_RDONLY)));
  std::printf("%x, %x; the stack is at %p, the calendar at %ld\n", system, std::random_device()(),
              static_cast<void*>(&system), time(nullptr));
}

void Hang() {
  ibv_context* const context = OpenDevice();
  ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  pollfd descriptor{channel->fd, POLLIN, 0};
  poll(&descriptor, 1, -1);
}

// A channel that does not block: each look takes a while.
void ReadInVain() {
  ibv_context* const context = OpenDevice();
  ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  fcntl(channel->fd, F_SETFL, O_NONBLOCK);
  ibv_cq* queue = nullptr;
  void* own = nullptr;
  while (ibv_get_cq_event(channel, &queue, &own) != 0) {
  }
}

// The limit is passed within a call.
void PollAtTheEnd() {
  ibv_context* const context = OpenDevice();
  ibv_cq* const queue = ibv_create_cq(context, 16, nullptr, nullptr, 0);
  const timespec end{.tv_sec = 6, .tv_nsec = 0};  // every process begins at second 1
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr);
  ibv_wc none;
  ibv_poll_cq(queue, 1, &none);
}

int IsOdd() {
  std::uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return 9;
  return static_cast<int>(number & 1);
}

int Fork() {
  const pid_t child = fork();
  if (child == 0) {
    OpenDevice();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

}  // namespace

int main(int count, char** words) {
  const std::string_view what = count == 2 ? words[1] : "";
  if (what == "hangs") Hang();
  if (what == "reads-in-vain") ReadInVain();
  if (what == "polls-at-the-end") PollAtTheEnd();
  constexpr std::string_view kAges = "ages-";
  if (what.starts_with(kAges)) WaitForAges(what.substr(kAges.size()));
  if (what == "odd") return IsOdd();
  if (what == "starts-c-thread") {
    thrd_t thread;
    thrd_create(
        &thread, [](void*) { return 0; }, nullptr);
  }
  if (what == "starts-thread") std::thread([] {}).join();
  if (what == "forks") return Fork();
  if (what == "waits") {
    WaitForHighFile();
    ibv_context* const context = OpenDevice();
    Wait();
    WaitByTheClockThatIsNamed();
    WaitForThePast();
    WaitForNoTime();
    Draw();
    if (ibv_close_device(context) != 0) ++failures;
  }
  return failures == 0 ? 0 : 1;
}
