// A file descriptor that a coroutine reads and writes.
//
//   CO_ASSIGN_OR_RETURN(const std::size_t got, co_await coro::Read(peer, room, deadline));
//   CO_RETURN_IF_ERROR(co_await coro::WriteAll(peer, bytes, deadline));
//
// Errors are values, in the codes of errno: kUnavailable where the peer is gone, kDeadlineExceeded,
// kCancelled where the descriptor was closed meanwhile. Linux only.

#ifndef DRYDOCK_CORO_DESCRIPTOR_H_
#define DRYDOCK_CORO_DESCRIPTOR_H_

#include <cstddef>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/epoll_selector.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"

namespace drydock::coro {

// Owns an open descriptor that does not block. Closing or destroying it resolves the tasks that
// wait for it with kCancelled. Dies before its selector. Not thread-safe.
class Descriptor {
 public:
  // Owns nothing.
  Descriptor() = default;
  // REQUIRES: `fd` is open and does not block (O_NONBLOCK).
  Descriptor(EpollSelector& selector, int fd) : selector_(&selector), fd_(fd) {}
  // The same, of one that may still block. Takes it over in every case: after an error it is
  // closed. Errors: as fcntl(2).
  static absl::StatusOr<Descriptor> Adopt(EpollSelector& selector, int fd);

  Descriptor(Descriptor&& other) noexcept
      : selector_(other.selector_), fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this == &other) return *this;
    Close();
    selector_ = other.selector_;
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~Descriptor() { Close(); }

  // Closing twice is harmless.
  void Close();

  // -1: closed, or never opened.
  int fd() const { return fd_; }
  // REQUIRES: not made by Descriptor().
  EpollSelector& selector() const { return *selector_; }

 private:
  EpollSelector* selector_ = nullptr;
  int fd_ = -1;
};

// In all of them, the descriptor and the bytes outlive the task. A read and a write of one
// descriptor may wait at the same time. After an error of ReadAll or WriteAll, any part of the
// bytes may have been moved.

// Waits until there are bytes and reads them, at most as many as `room` takes: the number of bytes
// read, 0 at the end. Looks at the descriptor in the next turn, not in this one: a peer that never
// stops talking cannot keep the loop from its other work.
Task<absl::StatusOr<std::size_t>> Read(const Descriptor& from, std::span<std::byte> room,
                                       Time deadline = kNever);

// Fills `room`. kOutOfRange: the other side ended before, the message says after how many bytes.
Task<absl::Status> ReadAll(const Descriptor& from, std::span<std::byte> room,
                           Time deadline = kNever);

// Writes all of `bytes`; waits only where there is no room for them. OK: the kernel has them, which
// does not say that the peer has read them.
Task<absl::Status> WriteAll(const Descriptor& to, std::span<const std::byte> bytes,
                            Time deadline = kNever);

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_DESCRIPTOR_H_
