// A thread that sleeps until something comes over a set of sockets, and then wakes another one that
// cannot wait for sockets itself.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_EAR_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_EAR_H_

#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"

namespace drydock::sim {

class Ear {
 public:
  // `sockets`: a descriptor that is readable while there is something, such as an epoll's; outlives
  // the ear. kUnavailable: the process may have no more files.
  static absl::StatusOr<std::unique_ptr<Ear>> Make(int sockets);
  ~Ear();
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;

  // Makes the thread, which calls `heard`. Is called once, before Arm.
  void Start(std::function<void()> heard);
  // From now on `heard` is called once, at once if something is there already.
  void Arm();

 private:
  Ear(int sockets, int epoll, int stop);

  void Run();

  const int sockets_;
  const int epoll_;
  const int stop_;  // an event
  std::function<void()> heard_;
  std::thread thread_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_EAR_H_
