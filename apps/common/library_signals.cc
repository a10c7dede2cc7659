#include "drydock/apps/common/library_signals.h"

#include <dlfcn.h>
#include <signal.h>

#include <cstring>

namespace drydock::apps {
namespace {

bool IsOfLibrary(const struct sigaction& action, const char* name) {
  Dl_info info{};
  const bool handled = (action.sa_flags & SA_SIGINFO) != 0 ||
                       (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
  return handled && dladdr(reinterpret_cast<void*>(action.sa_handler), &info) != 0 &&
         info.dli_fname != nullptr && std::strstr(info.dli_fname, name) != nullptr;
}

}  // namespace

void TakeSignalsBack() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    if (!IsOfLibrary(action, "libinfinipath")) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace drydock::apps
