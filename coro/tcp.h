// TCP for coroutines: listen, accept, connect.
//
//   CO_ASSIGN_OR_RETURN(const auto listener, coro::Listen(*io, coro::TcpAddress::Any(7000)));
//   CO_ASSIGN_OR_RETURN(const coro::Descriptor peer, co_await coro::Accept(listener));
//   CO_RETURN_IF_ERROR(co_await coro::WriteAll(peer, bytes));
//
// descriptor.h has the reads and writes. `io` is an EpollSelector, which outlives its descriptors.
// apps/echo is a whole program.

#ifndef DRYDOCK_CORO_TCP_H_
#define DRYDOCK_CORO_TCP_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/coro/descriptor.h"
#include "drydock/coro/epoll_selector.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"

namespace drydock::coro {

// The address of a TCP server: an IPv4 or IPv6 address and a port. A value.
class TcpAddress {
 public:
  // "HOST:PORT", where HOST is a name or an address: localhost:7, 10.0.0.1:7000, [::1]:7000. May
  // ask a name server, and block meanwhile: for the start of a program. kInvalidArgument: not of
  // that form; kNotFound: no such host.
  static absl::StatusOr<TcpAddress> Resolve(const std::string& host_and_port);

  // This machine, not reachable from others. Port 0: one that is free.
  static TcpAddress Loopback(std::uint16_t port);
  // Every IPv4 address of this machine.
  static TcpAddress Any(std::uint16_t port);

  std::uint16_t port() const;
  std::string ToString() const;  // as Resolve takes it

  // For system calls.
  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size_bytes() const { return size_bytes_; }
  int family() const { return storage_.ss_family; }

 private:
  friend absl::StatusOr<TcpAddress> LocalAddress(const Descriptor& socket);

  TcpAddress() = default;
  static TcpAddress Ipv4(std::uint32_t address, std::uint16_t port);

  sockaddr_storage storage_{};
  socklen_t size_bytes_ = sizeof(sockaddr_storage);
};

// A socket that takes connections; the kernel is asked to keep up to 128 until they are accepted.
// kAlreadyExists or kFailedPrecondition: the port is taken; others as bind(2) and listen(2).
absl::StatusOr<Descriptor> Listen(EpollSelector& selector, const TcpAddress& at);

// The address to which a socket is bound: with port 0, it has the port that was free.
absl::StatusOr<TcpAddress> LocalAddress(const Descriptor& socket);

// The next connection, without Nagle's delay. A peer that gives up while it waits is skipped.
// Errors: those of EpollSelector::Readable; kResourceExhausted: no more descriptors, and the peer
// still waits. `listener` outlives the task.
Task<absl::StatusOr<Descriptor>> Accept(const Descriptor& listener, Time deadline = kNever);

// A connection to `to`, without Nagle's delay. kUnavailable: no socket listens there, or it cannot
// be reached; kDeadlineExceeded.
Task<absl::StatusOr<Descriptor>> Connect(EpollSelector& selector, TcpAddress to,
                                         Time deadline = kNever);

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_TCP_H_
