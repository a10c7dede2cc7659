#include "drydock/coro/tcp.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::coro {
namespace {

// Of this machine's kernel, which caps it: connections that wait to be accepted.
constexpr int kBacklog = 128;

absl::Status SystemError(int error, const char* verb, const TcpAddress& address) {
  if (error == ECONNREFUSED) {
    return absl::UnavailableError(
        absl::StrCat(verb, " ", address.ToString(), ": nobody listens there"));
  }
  if (error == ETIMEDOUT) {  // the kernel's patience, which is no deadline of the caller's
    return absl::UnavailableError(absl::StrCat(verb, " ", address.ToString(), ": no answer"));
  }
  return absl::ErrnoToStatus(error, absl::StrCat(verb, " ", address.ToString()));
}

// Small messages leave at once. (Cannot fail on a TCP socket; would cost time only.)
void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

absl::StatusOr<TcpAddress> TcpAddress::Resolve(const std::string& host_and_port) {
  const std::size_t colon = host_and_port.rfind(':');
  std::uint32_t port = 0;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(host_and_port.substr(colon + 1), &port) || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", host_and_port, "' is not HOST:PORT, with a port from 0 to 65535"));
  }
  std::string host = host_and_port.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) {
    return absl::NotFoundError(absl::StrCat("find host '", host, "': ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  TcpAddress address;
  std::memcpy(&address.storage_, found->ai_addr, found->ai_addrlen);
  address.size_bytes_ = found->ai_addrlen;
  return address;
}

TcpAddress TcpAddress::Ipv4(std::uint32_t address, std::uint16_t port) {
  TcpAddress result;
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(port);
  ipv4.sin_addr.s_addr = htonl(address);
  std::memcpy(&result.storage_, &ipv4, sizeof(ipv4));
  result.size_bytes_ = sizeof(ipv4);
  return result;
}

TcpAddress TcpAddress::Loopback(std::uint16_t port) { return Ipv4(INADDR_LOOPBACK, port); }
TcpAddress TcpAddress::Any(std::uint16_t port) { return Ipv4(INADDR_ANY, port); }

std::uint16_t TcpAddress::port() const {
  // The same place in the IPv4 and the IPv6 form.
  sockaddr_in ipv4{};
  std::memcpy(&ipv4, &storage_, sizeof(ipv4));
  return ntohs(ipv4.sin_port);
}

std::string TcpAddress::ToString() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int error = getnameinfo(data(), size_bytes_, text.data(), text.size(), nullptr, 0,
                                NI_NUMERICHOST | NI_NUMERICSERV);
  const std::string host = error == 0 ? text.data() : "?";
  return family() == AF_INET6 ? absl::StrCat("[", host, "]:", port())
                              : absl::StrCat(host, ":", port());
}

absl::StatusOr<Descriptor> Listen(EpollSelector& selector, const TcpAddress& at) {
  const int fd = socket(at.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return SystemError(errno, "listen at", at);
  Descriptor listener(selector, fd);
  // Not refused because a connection of an earlier run is still being forgotten.
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd, at.data(), at.size_bytes()) != 0 || listen(fd, kBacklog) != 0) {
    return SystemError(errno, "listen at", at);
  }
  return listener;
}

absl::StatusOr<TcpAddress> LocalAddress(const Descriptor& socket) {
  TcpAddress address;
  if (getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address.storage_),
                  &address.size_bytes_) != 0) {
    return absl::ErrnoToStatus(errno, "ask a socket for its address");
  }
  return address;
}

Task<absl::StatusOr<Descriptor>> Accept(const Descriptor& listener, Time deadline) {
  for (;;) {
    CO_RETURN_IF_ERROR(co_await listener.selector().Readable(listener.fd(), deadline));
    const int fd = accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      SendAtOnce(fd);
      co_return Descriptor(listener.selector(), fd);
    }
    const bool gave_up = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    if (!gave_up) co_return absl::ErrnoToStatus(errno, "accept a connection");
  }
}

Task<absl::StatusOr<Descriptor>> Connect(EpollSelector& selector, TcpAddress to, Time deadline) {
  const int fd = socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) co_return SystemError(errno, "connect to", to);
  Descriptor connection(selector, fd);
  SendAtOnce(fd);
  if (connect(fd, to.data(), to.size_bytes()) == 0) co_return connection;
  if (errno != EINPROGRESS) co_return SystemError(errno, "connect to", to);
  CO_RETURN_IF_ERROR(co_await selector.Writable(fd, deadline));
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) co_return SystemError(error, "connect to", to);
  co_return connection;
}

}  // namespace drydock::coro
