// Signals that a library has taken from its program before main.

#ifndef DRYDOCK_APPS_COMMON_LIBRARY_SIGNALS_H_
#define DRYDOCK_APPS_COMMON_LIBRARY_SIGNALS_H_

namespace drydock::apps {

// libinfinipath, which Debian's libfabric brings, catches the signals that end a program (SIGINT,
// SIGTERM, SIGHUP) and those of its faults (SIGSEGV, SIGABRT, ...) and calls exit: then Ctrl-C
// during fi_getinfo hangs for ever in a lock that is held, and a crash looks like exit status 1.
// This restores the default action of those that it caught; others' handlers stay. At the beginning
// of main, in one thread.
void TakeSignalsBack();

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_LIBRARY_SIGNALS_H_
