// Signals that interrupt a call, for tests of what a program's handler does to it.

#ifndef DRYDOCK_SIM_VERBS_TESTING_REPEATED_ALARM_H_
#define DRYDOCK_SIM_VERBS_TESTING_REPEATED_ALARM_H_

#include <sys/time.h>

#include <csignal>

namespace drydock::sim_testing {

// While it lives, SIGALRM comes every 20 ms to a handler that does nothing, without SA_RESTART: a
// system call that waits on the main thread ends with EINTR. One at a time.
class RepeatedAlarm {
 public:
  RepeatedAlarm() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, &before_);
    const itimerval often{.it_interval = {0, 20000}, .it_value = {0, 20000}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~RepeatedAlarm() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  RepeatedAlarm(const RepeatedAlarm&) = delete;
  RepeatedAlarm& operator=(const RepeatedAlarm&) = delete;

 private:
  struct sigaction before_ {};
};

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_VERBS_TESTING_REPEATED_ALARM_H_
