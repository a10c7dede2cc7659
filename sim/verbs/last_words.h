// What is still done when a person ends the program by a signal.

#ifndef SIM_VERBS_LAST_WORDS_H_
#define SIM_VERBS_LAST_WORDS_H_

namespace sim::verbs {

// From now on SIGINT, SIGTERM and SIGHUP, those that the program neither handles nor ignores, run
// `say` in a thread of its own before the process dies of them. The first call counts.
void BeforeDeathBySignal(void (*say)());

}  // namespace sim::verbs

#endif  // SIM_VERBS_LAST_WORDS_H_
