// Signal handlers for flight files: a signal prints where the file is, or removes it.

#ifndef DRYDOCK_FABRIC_TRACE_FLIGHT_ALARM_H_
#define DRYDOCK_FABRIC_TRACE_FLIGHT_ALARM_H_

namespace drydock::fabric::trace {

// From now on a signal that means a bug (SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL) prints where the
// file is before the process dies of it, and one that a person ends programs with (SIGINT, SIGTERM,
// SIGHUP; SIGPIPE, as `| head` does), if the program does not handle it, removes the file first.
// Handlers that were installed before are called after ours. `path` stays until Withdraw. Does
// nothing when too many files are known. Thread-safe.
void Announce(const char* path);
void Withdraw(const char* path);
// Prints the same lines, of a program that ends itself because it has failed. Allocates nothing.
void TellFiles();

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_FLIGHT_ALARM_H_
