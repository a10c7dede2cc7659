// A connection that carries messages both ways.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_STREAM_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_STREAM_H_

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "drydock/sim/hosts/sockets/frames.h"
#include "drydock/sim/hosts/sockets/socket.h"

namespace drydock::sim {

// Never waits. Not thread-safe.
class Stream {
 public:
  // Takes messages of at most `longest` bytes, and holds back at most `most_unsent`.
  Stream(Socket socket, std::size_t longest, std::size_t most_unsent)
      : socket_(std::move(socket)), reader_(longest), writer_(most_unsent) {}
  Stream(Stream&&) = default;
  Stream& operator=(Stream&&) = default;
  // The other end learns of it at once, after all the bytes that the kernel has taken.
  ~Stream();

  const Socket& socket() const { return socket_; }
  Socket& socket() { return socket_; }
  int fd() const { return socket_.fd(); }
  void Allow(std::size_t longest) { reader_.Allow(longest); }

  // --- Out ---
  // Where a message goes; null: there is no room now. It leaves with Send.
  std::byte* Reserve(std::size_t bytes) { return writer_.Reserve(bytes); }
  // As much as the kernel takes.
  void Send();
  std::size_t unsent() const { return writer_.unsent().size(); }
  // Whether the other computer has all of it.
  bool drained() const;
  // A message of fixed size, sent at once. False: there is no room for it.
  template <typename T>
  bool Say(const T& message) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::byte* const room = Reserve(sizeof(T));
    if (room == nullptr) return false;
    std::memcpy(room, &message, sizeof(T));
    Send();
    return true;
  }

  // --- In ---
  // Takes one piece of the bytes that have come. False: there were none.
  bool Receive();
  bool Next(std::span<const std::byte>& message) { return reader_.Next(message); }
  void Release() { reader_.Release(); }

  // Nothing passes any more: the other end has closed it, or cannot be reached, or there never was
  // a connection. Bytes that came before that are still there.
  bool ended() const { return ended_; }
  // An errno of the network, by which it has ended; 0: the other end has closed it, or it has not
  // ended.
  int error() const { return error_; }
  // That error is one of silence: the other computer is out of reach, and the other end may be
  // alive.
  bool cut() const;
  // The other end has sent bytes that are no message.
  bool garbage() const { return reader_.garbage(); }

 private:
  void EndBy(int error);

  Socket socket_;
  FrameReader reader_;
  FrameWriter writer_;
  bool ended_ = false;
  int error_ = 0;
};

// The message as a T. False: it has another size.
template <typename T>
bool Read(std::span<const std::byte> message, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (message.size() != sizeof(T)) return false;
  std::memcpy(&value, message.data(), sizeof(T));
  return true;
}

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_STREAM_H_
