// Wait, the base of everything that a coroutine can be suspended in, and the cancellation of waits.
//
// A coroutine is cancelled by destroying its frame while it is suspended, which is safe at every
// suspension point: what it waited for forgets it. But an operation that the NIC still works on
// should be over before its buffers are used for something else. So cancelling has two phases:
//
//   ask      every wait at the leaves of the task answers
//              "cancelled now":  it is over, nothing will resume its coroutine any more, or
//              "will complete":  it counts itself in, and tells when it has ended
//   destroy  when all have ended, the frame goes
//
// Between the two, no coroutine of the task runs.

#ifndef DRYDOCK_CORO_WAIT_H_
#define DRYDOCK_CORO_WAIT_H_

#include <cstddef>
#include <functional>

namespace drydock::coro {

class Cancellation;

namespace internal {
class TaskRecord;
}  // namespace internal

// Base of awaiters and of everything else that a coroutine can be suspended in. Not owned by the
// code that cancels it. Threads: the loop's.
class Wait {
 public:
  // Ends the wait; called once at most. Either nothing will resume the coroutine from now on, or
  // `cancellation.Expect()` was called, and `cancellation.Ended()` will be, once, instead of
  // resuming it. `cancellation` lives until then, or until the coroutine was destroyed.
  virtual void Cancel(Cancellation& cancellation) = 0;

  // For people, behind "waits for": "a sleep", "a write". Static storage.
  virtual const char* what() const = 0;

  // Calls `each` for every task that has to finish before this wait ends, if it waits for tasks.
  virtual void ForEachTask(const std::function<void(const internal::TaskRecord&)>& each) const {
    static_cast<void>(each);
  }

 protected:
  ~Wait() = default;
};

// Counts the waits that could not be cancelled at once. Its owner is told when there are none left.
class Cancellation {
 public:
  virtual ~Cancellation() = default;

  // A wait will end later.
  void Expect() { ++pending_; }
  // One of them has ended. Destroys nothing: its caller is still running.
  void Ended() {
    if (--pending_ == 0) AllEnded();
  }
  std::size_t pending() const { return pending_; }

 private:
  // No wait is pending any more. Called by the last Ended(), while the code that ended the wait
  // still runs: destroy the frames that waited later, not here. Called again if waits are expected
  // afterwards, as when some end while others are still being asked; never if none was expected.
  // Threads: the loop's.
  virtual void AllEnded() = 0;

  std::size_t pending_ = 0;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_WAIT_H_
