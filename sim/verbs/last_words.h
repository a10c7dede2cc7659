// The last actions of a program that a person ends by a signal.

#ifndef DRYDOCK_SIM_VERBS_LAST_WORDS_H_
#define DRYDOCK_SIM_VERBS_LAST_WORDS_H_

namespace drydock::sim::verbs {

// From now on SIGINT, SIGTERM and SIGHUP, those that the program neither handles nor ignores, run
// `say` in a thread of its own before the process dies of them. The first call counts. The program
// does not run on: a thread that was interrupted waits, and so sees no EINTR. A second signal ends
// a `say` that hangs; so does half a minute. Where there can be no thread a line says so, and the
// process dies at once.
//
// `say` may allocate: of a program that was interrupted in malloc it may be lost. The thread lives
// as long as the process: one whose main has ended by pthread_exit does not end with its own last
// thread, but by exit or a signal.
void BeforeDeathBySignal(void (*say)());

// Held around code that has a mutex that `say` takes: a signal that comes meanwhile waits for its
// end.
class Unhurried {
 public:
  Unhurried();
  ~Unhurried();
  // Whether this thread was interrupted in such code, and is in it once more.
  static bool nested();
  // Whether this thread is in such code.
  static bool inside();
  Unhurried(const Unhurried&) = delete;
  Unhurried& operator=(const Unhurried&) = delete;
};

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_LAST_WORDS_H_
