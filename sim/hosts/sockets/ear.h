// A thread that sleeps until something comes over a set of sockets, and then wakes another one that
// cannot wait for sockets itself.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_EAR_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_EAR_H_

#include <functional>
#include <thread>

namespace drydock::sim {

class Ear {
 public:
  // `sockets`: a descriptor that is readable while there is something, such as an epoll's; outlives
  // the ear. `heard` is called by the ear's thread.
  Ear(int sockets, std::function<void()> heard);
  ~Ear();
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;

  // From now on `heard` is called once, at once if something is there already.
  void Arm();

 private:
  void Run();

  const int sockets_;
  const std::function<void()> heard_;
  int epoll_;
  int stop_;  // an event
  std::thread thread_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_EAR_H_
