// The time of a program that lives in virtual time: its clock, and the world that its waits run.
//
// The library in front of libc (libdrydock_time.so) has one, the library in front of libibverbs
// finds it by name: the two share nothing else.

#ifndef DRYDOCK_SIM_VIRTUAL_TIME_VIRTUAL_TIME_H_
#define DRYDOCK_SIM_VIRTUAL_TIME_VIRTUAL_TIME_H_

#include <chrono>
#include <cstdint>

namespace drydock::sim {

// Of a process of one thread: not thread-safe. Times are in nanoseconds on the program's monotonic
// clock.
class VirtualTime {
 public:
  static constexpr std::int64_t kBegin = 1'000'000'000;  // when every process begins
  static constexpr std::int64_t kNever = INT64_MAX;

  // Runs the events of this time.
  class Runner {
   public:
    virtual ~Runner() = default;
    // Runs until something has happened that the program can see, or until `deadline`; returns when
    // that was. kNever: `deadline` is kNever, and nothing is ever going to happen.
    virtual std::int64_t Run(std::int64_t deadline) = 0;
  };

  // Now, which is no look of the program's: nothing passes.
  virtual std::int64_t now() const = 0;
  // The program works for so long. Events in that time have happened when the world runs next.
  virtual void Spend(std::chrono::nanoseconds work) = 0;
  // From now on the program's waits run this world, which outlives that; null: there is none, and a
  // wait is over at once. REQUIRES: null, or there is none.
  virtual void Follow(Runner* world) = 0;
  // `end` is called when the program waits for ever, or lives longer than it may; `why` is one line
  // and static. It ends the process. Null, which is the default: the line is said, and the exit
  // status is kHangs.
  virtual void OnHang(void (*end)(const char* why)) = 0;

  static constexpr int kHangs = 124;  // as of timeout(1)

 protected:
  ~VirtualTime() = default;
};

// The name under which a process has its time: a function without arguments that returns a
// VirtualTime*. It is absent where the process lives by the machine's clock.
inline constexpr char kVirtualTimeFunction[] = "drydock_virtual_time";

// Environment variables. How many seconds of virtual time the process may live: 3600, unless it is
// set.
inline constexpr char kLimitVariable[] = "DRYDOCK_EFA_LIMIT";

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_VIRTUAL_TIME_VIRTUAL_TIME_H_
