// The last actions of a program that a person ends by a signal.

#ifndef DRYDOCK_SIM_VERBS_TERMINATION_H_
#define DRYDOCK_SIM_VERBS_TERMINATION_H_

namespace drydock::sim::verbs {

// Makes SIGINT, SIGTERM and SIGHUP run `say` before they end the process. A signal that the program
// handles or ignores is left alone. `say` runs once, on a thread of its own. The thread that took
// the signal waits meanwhile, so it sees no EINTR; the other threads run on. If `say` hangs, the
// process dies after 30 seconds or at a second signal; one within 0.3 seconds of the first is the
// same signal, sent to the process and to its group (timeout(1)). Only the first call in a process
// has an effect. If no thread can be started, prints a line and changes nothing.
//
// `say` may allocate memory, but it may hang if the program was interrupted inside malloc. Its
// thread lives as long as the process: a program whose main() calls pthread_exit ends only by exit
// or by a signal, not with its last thread.
void BeforeTermination(void (*say)());

// Delays the effect of such a signal while it exists. To be held wherever a mutex is held that
// `say` takes.
class TerminationDelay {
 public:
  TerminationDelay();
  ~TerminationDelay();
  // Whether this thread was interrupted in such code, and is in it once more.
  static bool nested();
  // Whether this thread is in such code.
  static bool inside();
  TerminationDelay(const TerminationDelay&) = delete;
  TerminationDelay& operator=(const TerminationDelay&) = delete;
};

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_TERMINATION_H_
