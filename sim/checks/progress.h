// Checks that a program polls only while something can come.

#ifndef DRYDOCK_SIM_CHECKS_PROGRESS_H_
#define DRYDOCK_SIM_CHECKS_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

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

  // A poll found nothing, with nothing scheduled. `queue`: CompletionRing::serial of what it looked
  // into; 0: a counter. `news`: rises with what a program may poll for. True once, when it is time
  // to say so.
  bool InVain(std::size_t queue, std::uint64_t news) {
    if (queue >= polls_.size()) polls_.resize(queue + 1);
    Polls& polls = polls_[queue];
    if (polls.news != news) polls.in_vain = 0;
    polls.news = news;
    return ++polls.in_vain == kInVain;
  }

 private:
  // Polls of one queue.
  struct Polls {
    std::uint64_t in_vain = 0;
    std::uint64_t news = 0;  // when it was polled last
  };

  std::vector<Polls> polls_;  // index: see InVain
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_PROGRESS_H_
