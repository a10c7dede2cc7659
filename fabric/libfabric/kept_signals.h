// Keeps the actions of the signals as they are while a library is loaded.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_KEPT_SIGNALS_H_
#define DRYDOCK_FABRIC_LIBFABRIC_KEPT_SIGNALS_H_

#include <signal.h>

#include <array>

namespace drydock::fabric::libfabric {

// libinfinipath, which Debian's libfabric brings, catches the signals that end a program (SIGINT,
// SIGTERM, SIGHUP) and those of its faults (SIGSEGV, SIGABRT, ...) when it is loaded, and calls
// exit: then Ctrl-C during fi_getinfo hangs for ever in a lock that is held, and a crash looks like
// exit status 1. In its lifetime no other thread may change an action.
class KeptSignals {
 public:
  KeptSignals();
  // Puts back each action that is another one now.
  ~KeptSignals();
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  std::array<struct sigaction, NSIG> actions_{};
  std::array<bool, NSIG> known_{};  // not those of the C library's own
};

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_KEPT_SIGNALS_H_
