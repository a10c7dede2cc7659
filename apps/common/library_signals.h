#ifndef DRYDOCK_APPS_COMMON_LIBRARY_SIGNALS_H_
#define DRYDOCK_APPS_COMMON_LIBRARY_SIGNALS_H_

// Signals that a library has taken from its program before main.

namespace drydock::apps {

// libinfinipath, which Debian's libfabric brings, catches what ends a program (SIGINT, SIGTERM,
// SIGHUP) and what is wrong with one (SIGSEGV, SIGABRT, ...) and calls exit: then Ctrl-C during
// fi_getinfo hangs for ever in a lock that is held, and a crash looks like exit status 1. Those
// that it caught do again what they do by default; others' handlers stay. At the beginning of main,
// in one thread.
void TakeSignalsBack();

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_LIBRARY_SIGNALS_H_
