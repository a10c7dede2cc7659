#include "drydock/sim/verbs/termination.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <thread>

namespace drydock::sim::verbs {
namespace {

constexpr int kEnds[] = {SIGINT, SIGTERM, SIGHUP};
// The largest trace needs some fifteen seconds.
constexpr std::int64_t kPatienceNs = 30'000'000'000;
// timeout(1) sends its signal to the program and then to the group that it is in: that is one.
constexpr std::int64_t kSameNs = 300'000'000;

int ears[2] = {-1, -1};               // a pipe: a handler may do nothing more than write to it
pid_t listener = 0;                   // the process that has the thread
std::atomic<std::int64_t> since = 0;  // when the first signal came
std::atomic<int> dying = 0;           // that signal

struct OfThread {
  volatile int calls = 0;       // that hold a TerminationDelay
  volatile bool waits = false;  // for the death
};
// Initial-exec: a handler finds it without an allocation.
[[gnu::tls_model("initial-exec")]] constinit thread_local OfThread self;

std::int64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

void Die(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  raise(signal);
}

// The listener ends the process when all was said.
void AwaitDeath(int signal) {
  self.waits = true;
  for (std::int64_t left; (left = since + kPatienceNs - Now()) > 0;) {
    poll(nullptr, 0, static_cast<int>(left / 1'000'000) + 1);
  }
  Die(signal);
}

void OnEnd(int signal) {
  const int error = errno;
  if (getpid() != listener) Die(signal);  // a forked child: no thread listens
  std::int64_t first = 0;
  if (since.compare_exchange_strong(first, Now())) {
    dying = signal;
    const auto byte = static_cast<unsigned char>(signal);
    if (write(ears[1], &byte, 1) != 1) Die(signal);
  } else if (Now() - first > kSameNs) {
    Die(signal);
  }
  if (self.calls == 0 && !self.waits) AwaitDeath(signal);
  errno = error;
}

void Listen(void (*say)()) {
  unsigned char signal = 0;
  while (read(ears[0], &signal, 1) != 1) {
  }
  self.waits = true;  // it is not to wait for itself
  say();
  Die(signal);
}

// The thread takes no signal from the program's own.
bool StartListener(void (*say)()) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread(Listen, say).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void NoListener() {
  std::fprintf(stderr, "drydock-efa: no thread: a signal that ends this program leaves no trace\n");
}

}  // namespace

void BeforeTermination(void (*say)()) {
  if (listener == getpid()) return;
  int pipe[2];  // `ears` may be the parent's
  if (pipe2(pipe, O_CLOEXEC) != 0) return NoListener();
  std::copy_n(pipe, 2, ears);
  since = 0;  // of a parent that was dying
  dying = 0;
  if (!StartListener(say)) {
    close(ears[0]);
    close(ears[1]);
    return NoListener();
  }
  listener = getpid();
  for (const int signal : kEnds) {
    struct sigaction was {};
    sigaction(signal, nullptr, &was);
    const bool nobodys = (was.sa_flags & SA_SIGINFO) == 0 && was.sa_handler == SIG_DFL;
    if (!nobodys) continue;
    struct sigaction ours {};
    ours.sa_handler = OnEnd;
    ours.sa_flags = SA_RESTART | SA_NODEFER;  // the second one is to be heard
    sigemptyset(&ours.sa_mask);
    sigaction(signal, &ours, nullptr);
  }
}

TerminationDelay::TerminationDelay() { self.calls = self.calls + 1; }

bool TerminationDelay::nested() { return self.calls > 1; }

bool TerminationDelay::inside() { return self.calls > 0; }

TerminationDelay::~TerminationDelay() {
  self.calls = self.calls - 1;
  const bool ends = self.calls == 0 && !self.waits && dying != 0;
  if (ends && listener == getpid()) AwaitDeath(dying);
}

}  // namespace drydock::sim::verbs
