// A rendezvous on this computer, for tests.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_TESTING_MEETING_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_TESTING_MEETING_H_

#include <sys/types.h>

#include <string>

#include "drydock/sim/hosts/sockets/mac.h"

namespace drydock::sim_testing {

// Serves in a process of its own, at a free port, with a key of its own. To be made while the
// process has one thread.
class Meeting {
 public:
  Meeting();
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  const std::string& network() const { return network_; }
  const std::string& key_file() const { return key_file_; }
  const sim::Key& key() const { return key_; }
  // Its process is killed.
  void Stop();
  // Its process sleeps (SIGSTOP) until Thaw, which may come without Freeze. REQUIRES: it was not
  // killed.
  void Freeze();
  void Thaw();

 private:
  const std::string key_file_;
  sim::Key key_;
  std::string network_;
  pid_t pid_ = -1;  // -1: it is not there any more
};

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_TESTING_MEETING_H_
