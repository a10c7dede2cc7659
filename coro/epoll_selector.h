// File descriptors as a source of events: sockets, pipes, terminals, whatever epoll takes.
//
//   ASSIGN_OR_RETURN(auto io, coro::EpollSelector::Open(loop));
//   absl::Status ready = co_await io->Readable(fd, deadline);
//
// descriptor.h, tcp.h and signals.h read and write once a descriptor is ready. Linux only.
//
// Time: a wait is in nanoseconds and ends at the loop's next timer, however many descriptors are
// idle. Several selectors: a loop that has no other selector sleeps in this one; a loop that has
// completion queues beside it, which can only be polled, polls all of them and naps in between
// (IdlePolicy), so that an event is noticed one nap late at most. The clock has to be a real one: a
// virtual clock does not wait for the world outside.

#ifndef DRYDOCK_CORO_EPOLL_SELECTOR_H_
#define DRYDOCK_CORO_EPOLL_SELECTOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/intrusive_list.h"
#include "drydock/coro/selector.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"

namespace drydock::coro {

// Ownership: owns no descriptor that is waited for; Descriptor does. Dies before the loop, and
// after every coroutine that waits here. Threads: the loop's. Blocking: Wait only.
class EpollSelector final : public Selector {
 public:
  // Belongs to the loop until it is destroyed. Ignores SIGPIPE in the whole process unless the
  // program handles it, so that a write to a closed peer fails instead. kResourceExhausted: no
  // descriptor left.
  static absl::StatusOr<std::unique_ptr<EpollSelector>> Open(EventLoop& loop);

  EpollSelector(const EpollSelector&) = delete;
  EpollSelector& operator=(const EpollSelector&) = delete;
  ~EpollSelector() override;

  // Waits until `fd` is ready for a read (an accept), or for a write (a connect). OK: make the
  // call. It may report end of file, a hang-up or an error, which also make a descriptor ready, or
  // may still find nothing, as after poll(2). Files on a disk are always ready. kDeadlineExceeded:
  // `deadline` came first. kCancelled: Forget was called. kInvalidArgument: not an open descriptor.
  // Any number of coroutines may wait for one descriptor: all are woken. A coroutine that is
  // destroyed while it waits leaves nothing behind.
  Task<absl::Status> Readable(int fd, Time deadline = kNever);
  Task<absl::Status> Writable(int fd, Time deadline = kNever);

  // Ends every wait for `fd` with kCancelled, also where an event has woken the coroutine and it
  // has not run yet. Call it before close(fd): the waiters of a descriptor that is closed without
  // it are never resumed. (Descriptor does both.)
  void Forget(int fd);

  // Coroutines that wait here. With none, Poll makes no system call.
  std::size_t waiting() const { return waiting_; }
  EventLoop& loop() { return loop_; }

  // --- Selector ---
  std::size_t Poll(std::size_t budget) override;
  // False when nothing could ever end it: no task waits here, and there is no deadline.
  bool Wait(Time deadline) override;

 private:
  enum Direction : std::size_t { kRead, kWrite };
  class Waiter;
  // The waiters of one descriptor.
  struct Watch {
    std::array<IntrusiveList<Waiter>, 2> waiters;  // by direction
    IntrusiveList<Waiter> woken;                   // by an event, and have not run since
  };

  EpollSelector(EventLoop& loop, int epoll);

  Task<absl::Status> Ready(int fd, Direction direction, Time deadline);
  // Asks epoll for one event of those that are waited for. Returns an errno; 0: done.
  int Arm(int fd, const Watch& watch);
  void Disarm(int fd);
  void OnEvent(int fd, std::uint32_t events);
  void WakeAll(IntrusiveList<Waiter>& waiters, Watch& watch);
  // With kCancelled.
  void EndAll(IntrusiveList<Waiter>& waiters);
  // A waiter of `fd` has gone without an event.
  void Left(int fd);

  EventLoop& loop_;
  const int epoll_;
  std::size_t waiting_ = 0;
  std::unordered_map<int, Watch> watches_;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_EPOLL_SELECTOR_H_
