// A child of a test, with a pipe in each direction.

#ifndef DRYDOCK_SIM_HOSTS_TESTING_CHILD_PROCESS_H_
#define DRYDOCK_SIM_HOSTS_TESTING_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <type_traits>

namespace drydock::sim_testing {

// One end of both pipes. Blocks; ends the process when the other one is gone.
class Talk {
 public:
  Talk(int in, int out) : in_(in), out_(out) {}

  template <typename T>
  void Say(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    Write(&value, sizeof(value));
  }
  template <typename T>
  T Hear() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    Read(&value, sizeof(value));
    return value;
  }
  // Whether there is something to hear, or the other one is gone.
  bool HasNews() const;

 private:
  void Write(const void* data, std::size_t bytes);
  void Read(void* data, std::size_t bytes);

  int in_;
  int out_;
};

// To be made while the process has one thread.
class ChildProcess {
 public:
  // The child runs `body`, and ends: with 0 when no expectation failed in it.
  explicit ChildProcess(const std::function<void(Talk&)>& body);
  // Kills it if it is still there.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  Talk& talk() { return talk_; }
  // It is dead when this returns.
  void Kill();
  // Waits for its end: its exit code, or -1 when it was killed.
  int Wait();

 private:
  pid_t pid_ = -1;
  int fds_[2] = {-1, -1};
  Talk talk_{-1, -1};
};

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_HOSTS_TESTING_CHILD_PROCESS_H_
