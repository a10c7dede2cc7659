#include "drydock/sim/hosts/sockets/stream.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>

namespace drydock::sim {
namespace {

bool MayComeLater(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

// A thread that looks at the connection through an epoll has a reference to it, which Linux may let
// go of only when that thread has something to do again: close alone says nothing until then.
Stream::~Stream() {
  if (socket_.valid()) shutdown(fd(), SHUT_RDWR);
}

void Stream::Send() {
  while (!ended_ && unsent() > 0) {
    const std::span<const std::byte> bytes = writer_.unsent();
    const ssize_t sent = send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return EndBy(errno);
    writer_.Sent(static_cast<std::size_t>(sent));
  }
}

bool Stream::drained() const {
  int in_kernel = 0;
  return unsent() == 0 && (ioctl(fd(), SIOCOUTQ, &in_kernel) != 0 || in_kernel == 0);
}

bool Stream::Receive() {
  if (ended_ || garbage()) return false;
  const std::span<std::byte> room = reader_.Room();
  if (room.empty()) return false;
  const ssize_t received = recv(fd(), room.data(), room.size(), 0);
  if (received > 0) {
    reader_.Add(static_cast<std::size_t>(received));
    return true;
  }
  if (received < 0) {
    EndBy(errno);
  } else {
    ended_ = true;
  }
  return false;
}

void Stream::EndBy(int error) {
  if (MayComeLater(error)) return;
  ended_ = true;
  error_ = error;
}

// What a kernel reports whose questions were not answered, or that has no way to ask.
bool Stream::cut() const {
  return error_ == ETIMEDOUT || error_ == EHOSTUNREACH || error_ == ENETUNREACH ||
         error_ == ENETDOWN;
}

}  // namespace drydock::sim
