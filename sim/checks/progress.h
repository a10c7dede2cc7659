// Checks that a program polls only while something can come.

#ifndef DRYDOCK_SIM_CHECKS_PROGRESS_H_
#define DRYDOCK_SIM_CHECKS_PROGRESS_H_

#include <cstdint>

namespace drydock::sim {

// The endless loops of a program: it polls while nothing is under way; or it posts to a full send
// queue, which takes no time, and neither waits nor reads the completions that make room.
enum class EndlessLoop : std::uint8_t { kPolls, kPosts };

// Counts a program's vain calls while nothing is scheduled in its world: in one thread and in
// virtual time, nothing can come of it ever. A program that looks at the time meanwhile may have a
// deadline, and is left alone; so is one that waits for the world.
class Progress {
 public:
  // In a row, of one queue: a loop over a thousand queues is not for ever after a hundred rounds. A
  // few milliseconds of a machine's time.
  static constexpr std::uint64_t kInVain = 100'000;

  // Polls of one queue.
  class Polls {
    friend class Progress;
    std::uint64_t in_vain = 0;
    std::uint64_t since = 0;  // what was new then
  };

  // A poll found nothing, with nothing scheduled. `news`: Timeline::news. True once, when it is
  // time to say so.
  bool InVain(Polls& polls, std::uint64_t news) {
    const std::uint64_t since = news + posts_;
    if (polls.since != since) polls.in_vain = 0;
    polls.since = since;
    return ++polls.in_vain == kInVain;
  }
  // The program has posted something.
  void Posted() { ++posts_; }

 private:
  std::uint64_t posts_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_PROGRESS_H_
