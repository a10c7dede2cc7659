#include "drydock/fabric/libfabric/kept_signals.h"

namespace drydock::fabric::libfabric {

KeptSignals::KeptSignals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    known_[signal] = sigaction(signal, nullptr, &actions_[signal]) == 0;
  }
}

KeptSignals::~KeptSignals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now {};
    if (!known_[signal] || sigaction(signal, nullptr, &now) != 0) continue;
    // The handler is the first of both kinds of action that the union holds.
    if (now.sa_handler == actions_[signal].sa_handler) continue;
    sigaction(signal, &actions_[signal], nullptr);
  }
}

}  // namespace drydock::fabric::libfabric
