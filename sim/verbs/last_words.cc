#include "sim/verbs/last_words.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace sim::verbs {
namespace {

constexpr int kEnds[] = {SIGINT, SIGTERM, SIGHUP};

int ears[2] = {-1, -1};  // a pipe: a handler may do nothing more than write to it
pid_t listener = 0;      // the process that has the thread

void OnEnd(int signal) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(signal);
  // A forked child has no thread that listens.
  const bool heard = getpid() == listener && write(ears[1], &byte, 1) == 1;
  if (!heard) {
    ::signal(signal, SIG_DFL);
    raise(signal);
  }
  errno = error;
}

void Listen(void (*say)()) {
  unsigned char signal = 0;
  while (read(ears[0], &signal, 1) != 1) {
  }
  say();
  ::signal(signal, SIG_DFL);
  kill(getpid(), signal);
}

}  // namespace

void BeforeDeathBySignal(void (*say)()) {
  if (listener == getpid() || pipe2(ears, O_CLOEXEC) != 0) return;
  listener = getpid();
  // The thread takes no signal from the program's own.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(Listen, say).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const int signal : kEnds) {
    struct sigaction was {};
    sigaction(signal, nullptr, &was);
    const bool nobodys = (was.sa_flags & SA_SIGINFO) == 0 && was.sa_handler == SIG_DFL;
    if (!nobodys) continue;
    struct sigaction ours {};
    ours.sa_handler = OnEnd;
    ours.sa_flags = SA_RESTART;
    sigemptyset(&ours.sa_mask);
    sigaction(signal, &ours, nullptr);
  }
}

}  // namespace sim::verbs
