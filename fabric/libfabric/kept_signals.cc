#include "drydock/fabric/libfabric/kept_signals.h"

#include <dlfcn.h>

#include <cstring>

namespace drydock::fabric::libfabric {
namespace {

bool IsOfLibrary(const struct sigaction& action, const char* name) {
  Dl_info info{};
  const bool handled = (action.sa_flags & SA_SIGINFO) != 0 ||
                       (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
  return handled && dladdr(reinterpret_cast<void*>(action.sa_handler), &info) != 0 &&
         info.dli_fname != nullptr && std::strstr(info.dli_fname, name) != nullptr;
}

}  // namespace

KeptSignals::KeptSignals(const char* library) : library_(library) {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
  pthread_sigmask(SIG_BLOCK, &ending, &mask_);
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, nullptr, &actions_[signal]);
}

KeptSignals::~KeptSignals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now {};
    // Those that the C library keeps for itself cannot be asked for.
    if (sigaction(signal, nullptr, &now) != 0 || !IsOfLibrary(now, library_)) continue;
    sigaction(signal, &actions_[signal], nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

}  // namespace drydock::fabric::libfabric
