// TCP sockets that do not wait, and their addresses.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_SOCKET_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_SOCKET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

struct sockaddr;

namespace drydock::sim {

// Of IPv4 or IPv6. Trivially copyable: it goes through messages, and may hold anything then.
class SocketAddress {
 public:
  // kNotFound: the host's name does not resolve.
  static absl::StatusOr<SocketAddress> Of(const std::string& host, std::uint16_t port);
  static SocketAddress From(const sockaddr* address, std::size_t bytes);

  // Whether it is an address at all.
  bool IsSound() const;
  std::uint16_t port() const;
  SocketAddress WithPort(std::uint16_t port) const;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(bytes_.data()); }
  std::uint32_t size() const { return size_; }

 private:
  static constexpr std::size_t kMostBytes = 28;  // sockaddr_in6
  alignas(8) std::array<std::byte, kMostBytes> bytes_{};
  std::uint32_t size_ = 0;
};

// Owns a descriptor, which a program that this one starts does not inherit. Move-only; not
// thread-safe.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  // One that becomes a connection, or fails later. Errors are those of socket(2).
  static absl::StatusOr<Socket> Dial(const SocketAddress& address);
  // One that has the address, for Listen. The code is kAlreadyExists if another socket has the
  // address, kOutOfRange if no interface of this computer has it.
  static absl::StatusOr<Socket> Bind(const SocketAddress& address);
  absl::Status Listen();
  // The next connection to a listening socket; empty: there is none, or, where errno is EMFILE or
  // ENFILE, there is no file for it.
  Socket Accept();

  // It ends after twice the silence that ends the others. For the one end of a connection of which
  // the other one is to notice a cut first.
  void BePatient();

  bool valid() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  SocketAddress LocalAddress() const;
  SocketAddress PeerAddress() const;

 private:
  int fd_ = -1;
};

// In a child that was forked off this process: closes its copies of all sockets, so that those of
// the parent end with the parent. Takes no lock.
void CloseSocketsInChild();

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_SOCKET_H_
