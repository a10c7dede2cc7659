#include "drydock/fabric/trace/flight_alarm.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>

namespace drydock::fabric::trace {
namespace {

constexpr int kBugs[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr int kEnds[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
constexpr int kMostSignal = 32;

std::array<std::atomic<const char*>, 8> paths;
std::atomic<pid_t> owner = 0;  // the process that has announced them; not its forked children
struct sigaction before[kMostSignal];  // by number of the signal; set before our handler is

// Writes as far as a signal handler may; failures are ignored.
void Say(const char* text) {
  const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);
}

// Lets the signal do what it would have done without us. It is blocked until this handler returns.
void PassOn(int signal) {
  sigaction(signal, &before[signal], nullptr);
  raise(signal);
}

void OnBug(int signal) {
  TellFiles();
  PassOn(signal);
}

void OnEnd(int signal) {
  if (owner != getpid()) return PassOn(signal);
  for (std::atomic<const char*>& entry : paths) {
    const char* path = entry.exchange(nullptr);
    if (path != nullptr) unlink(path);
  }
  PassOn(signal);
}

void Install(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

void InstallAll() {
  for (const int signal : kBugs) {
    sigaction(signal, nullptr, &before[signal]);
    Install(signal, &OnBug);
  }
  for (const int signal : kEnds) {
    sigaction(signal, nullptr, &before[signal]);
    const bool nobodys =
        (before[signal].sa_flags & SA_SIGINFO) == 0 && before[signal].sa_handler == SIG_DFL;
    if (nobodys) Install(signal, &OnEnd);
  }
}

}  // namespace

void TellFiles() {
  if (owner != getpid()) return;
  for (std::atomic<const char*>& entry : paths) {
    const char* path = entry.exchange(nullptr);
    if (path == nullptr) continue;
    Say("flight recorder: the last events are in ");
    Say(path);
    Say(" (apps/flight shows them)\n");
  }
}

void Announce(const char* path) {
  static std::once_flag installed;
  std::call_once(installed, InstallAll);
  // A forked child that records for itself knows nothing of its parent's.
  if (const pid_t last = owner.exchange(getpid()); last != 0 && last != getpid()) {
    for (std::atomic<const char*>& entry : paths) entry = nullptr;
  }
  for (std::atomic<const char*>& entry : paths) {
    const char* nobody = nullptr;
    if (entry.compare_exchange_strong(nobody, path)) return;
  }
}

void Withdraw(const char* path) {
  for (std::atomic<const char*>& entry : paths) {
    const char* expected = path;
    if (entry.compare_exchange_strong(expected, nullptr)) return;
  }
}

}  // namespace drydock::fabric::trace
