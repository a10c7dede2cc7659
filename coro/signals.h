// Signals as something that a coroutine waits for, instead of a handler that may call hardly
// anything.
//
//   ASSIGN_OR_RETURN(auto signals, coro::Signals::Open(*io, {SIGINT, SIGTERM}));
//   CO_ASSIGN_OR_RETURN(const int signal, co_await signals->Next());

#ifndef DRYDOCK_CORO_SIGNALS_H_
#define DRYDOCK_CORO_SIGNALS_H_

#include <csignal>
#include <initializer_list>
#include <memory>

#include "absl/status/statusor.h"
#include "drydock/coro/descriptor.h"
#include "drydock/coro/epoll_selector.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"

namespace drydock::coro {

// While it lives, these signals have no other effect: they are blocked in this thread. Signals go
// to any thread that does not block them, so open it before other threads are started, which
// inherit the mask. Its death unblocks those that were not blocked before; signals that came and
// were not taken then have their usual effect. Dies before its selector, on the thread that opened
// it. Several may live at a time, for different signals. Linux only.
class Signals {
 public:
  // kInvalidArgument: not a signal, or none that can be caught (SIGKILL, SIGSTOP); others as
  // signalfd(2).
  static absl::StatusOr<std::unique_ptr<Signals>> Open(EpollSelector& selector,
                                                       std::initializer_list<int> signals);

  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  // The number of the next signal. The same signal sent several times before it is taken may count
  // once. kDeadlineExceeded.
  Task<absl::StatusOr<int>> Next(Time deadline = kNever);

 private:
  explicit Signals(const sigset_t& blocked) : blocked_(blocked) {}

  const sigset_t blocked_;  // by this
  Descriptor queue_;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_SIGNALS_H_
