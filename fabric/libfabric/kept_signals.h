// Keeps a program's signals while libfabric is loaded.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_KEPT_SIGNALS_H_
#define DRYDOCK_FABRIC_LIBFABRIC_KEPT_SIGNALS_H_

#include <signal.h>

#include <array>

namespace drydock::fabric::libfabric {

// libinfinipath, which Debian's libfabric brings, catches the signals that end a program (SIGINT,
// SIGTERM, SIGHUP) and those of its faults (SIGSEGV, SIGABRT, ...) when it is loaded, and calls
// exit: then Ctrl-C during fi_getinfo hangs for ever in a lock that is held, and a crash looks like
// exit status 1.
//
// In its lifetime the calling thread gets no SIGINT, SIGTERM or SIGHUP: they come afterwards.
class KeptSignals {
 public:
  // `library`: a part of the file's name of who takes signals.
  explicit KeptSignals(const char* library = "libinfinipath");
  // Puts the action back that each signal had whose handler is now that library's. Others, which
  // another thread may have set, stay.
  ~KeptSignals();
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  const char* library_;
  sigset_t mask_{};
  std::array<struct sigaction, NSIG> actions_{};
};

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_KEPT_SIGNALS_H_
