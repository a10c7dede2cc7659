#include "drydock/sim/hosts/sockets/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace drydock::sim {
namespace {

// A computer that does not answer for so long is taken for gone. The kernels of both ask and
// answer, so that a process that is stopped still counts as there.
constexpr int kSilenceSeconds = 3;

// All descriptors of the process that are sockets here, for CloseSocketsInChild; -1: none.
constexpr std::size_t kMostSockets = 4096;
std::array<std::atomic<int>, kMostSockets>& Everyone() {
  static auto& everyone = *[] {
    auto* const made = new std::array<std::atomic<int>, kMostSockets>;
    for (auto& fd : *made) fd.store(-1, std::memory_order_relaxed);
    return made;
  }();
  return everyone;
}

// The first `from` in the list becomes `to`.
void Replace(int from, int to) {
  for (auto& fd : Everyone()) {
    int expected = from;
    if (fd.compare_exchange_strong(expected, to, std::memory_order_relaxed)) return;
  }
}

void Set(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof(value));
}

void SetSilence(int fd, int seconds) {
  Set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  Set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  Set(fd, IPPROTO_TCP, TCP_KEEPCNT, seconds - 1);
  Set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, seconds * 1000);
}

void Tune(int fd) {
  Set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetSilence(fd, kSilenceSeconds);
  Set(fd, IPPROTO_TCP, TCP_SYNCNT, 1);
}

absl::Status CallFailed(const char* what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error)));
}

absl::StatusOr<Socket> New(const SocketAddress& address) {
  if (!address.IsSound()) return absl::UnavailableError("socket: no address of IPv4 or IPv6");
  const int fd =
      socket(address.get()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (fd < 0) return CallFailed("socket", errno);
  return Socket(fd);
}

using NameCall = int (*)(int, sockaddr*, socklen_t*);

SocketAddress NameOf(int fd, NameCall call) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(storage);
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  return call(fd, address, &bytes) == 0 ? SocketAddress::From(address, bytes) : SocketAddress();
}

}  // namespace

// ---- Addresses ----

absl::StatusOr<SocketAddress> SocketAddress::Of(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (error != 0) return absl::NotFoundError(absl::StrCat(host, ": ", gai_strerror(error)));
  const SocketAddress address = From(found->ai_addr, found->ai_addrlen).WithPort(port);
  freeaddrinfo(found);
  return address;
}

SocketAddress SocketAddress::From(const sockaddr* address, std::size_t bytes) {
  SocketAddress made;
  if (bytes > kMostBytes) return made;
  std::memcpy(made.bytes_.data(), address, bytes);
  made.size_ = static_cast<std::uint32_t>(bytes);
  return made;
}

bool SocketAddress::IsSound() const {
  if (size_ == sizeof(sockaddr_in)) return get()->sa_family == AF_INET;
  return size_ == sizeof(sockaddr_in6) && get()->sa_family == AF_INET6;
}

// The port is at the same place in both.
static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));

std::uint16_t SocketAddress::port() const {
  std::uint16_t port = 0;
  std::memcpy(&port, bytes_.data() + offsetof(sockaddr_in, sin_port), sizeof(port));
  return ntohs(port);
}

SocketAddress SocketAddress::WithPort(std::uint16_t port) const {
  SocketAddress other = *this;
  port = htons(port);
  std::memcpy(other.bytes_.data() + offsetof(sockaddr_in, sin_port), &port, sizeof(port));
  return other;
}

// ---- Sockets ----

Socket::Socket(int fd) : fd_(fd) {
  if (fd_ >= 0) Replace(-1, fd_);
}

Socket::Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Socket::~Socket() {
  if (fd_ < 0) return;
  Replace(fd_, -1);
  close(fd_);
}

absl::StatusOr<Socket> Socket::Dial(const SocketAddress& address) {
  absl::StatusOr<Socket> socket = New(address);
  if (!socket.ok()) return socket;
  Tune(socket->fd());
  if (connect(socket->fd(), address.get(), address.size()) != 0 && errno != EINPROGRESS) {
    return CallFailed("connect", errno);
  }
  return socket;
}

absl::StatusOr<Socket> Socket::Bind(const SocketAddress& address) {
  absl::StatusOr<Socket> socket = New(address);
  if (!socket.ok()) return socket;
  Set(socket->fd(), SOL_SOCKET, SO_REUSEADDR, 1);  // remains of the last socket do not matter
  if (bind(socket->fd(), address.get(), address.size()) == 0) return socket;
  if (errno == EADDRINUSE) return absl::AlreadyExistsError("bind: another socket has the address");
  if (errno == EADDRNOTAVAIL)
    return absl::OutOfRangeError("bind: this computer has no such address");
  return CallFailed("bind", errno);
}

absl::Status Socket::Listen() {
  return listen(fd_, SOMAXCONN) == 0 ? absl::OkStatus() : CallFailed("listen", errno);
}

Socket Socket::Accept() {
  Socket accepted(accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (accepted.valid()) Tune(accepted.fd());
  return accepted;
}

void Socket::BePatient() { SetSilence(fd_, 2 * kSilenceSeconds); }

SocketAddress Socket::LocalAddress() const { return NameOf(fd_, &getsockname); }
SocketAddress Socket::PeerAddress() const { return NameOf(fd_, &getpeername); }

void CloseSocketsInChild() {
  for (auto& fd : Everyone()) {
    const int open = fd.exchange(-1, std::memory_order_relaxed);
    if (open >= 0) close(open);
  }
}

}  // namespace drydock::sim
