#include "drydock/coro/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::coro {
namespace {

// Nothing happened; try again when the descriptor is ready.
bool MustWait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// One code for a connection that broke, whichever side notices first. The kernel's own patience
// with a peer is no deadline of the caller's.
absl::Status TransferError(int error, const char* verb, int fd) {
  if (error == EPIPE || error == ECONNRESET || error == ETIMEDOUT) {
    return absl::UnavailableError(absl::StrCat(verb, " descriptor ", fd, ": the peer is gone"));
  }
  return absl::ErrnoToStatus(error, absl::StrCat(verb, " descriptor ", fd));
}

}  // namespace

absl::StatusOr<Descriptor> Descriptor::Adopt(EpollSelector& selector, int fd) {
  Descriptor descriptor(selector, fd);
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("make descriptor ", fd, " non-blocking"));
  }
  return descriptor;
}

void Descriptor::Close() {
  if (fd_ < 0) return;
  selector_->Forget(fd_);
  close(std::exchange(fd_, -1));
}

Task<absl::StatusOr<std::size_t>> Read(const Descriptor& from, std::span<std::byte> room,
                                       Time deadline) {
  for (;;) {
    CO_RETURN_IF_ERROR(co_await from.selector().Readable(from.fd(), deadline));
    const ssize_t got = read(from.fd(), room.data(), room.size());
    if (got >= 0) co_return static_cast<std::size_t>(got);
    if (!MustWait(errno)) co_return TransferError(errno, "read", from.fd());
  }
}

Task<absl::Status> ReadAll(const Descriptor& from, std::span<std::byte> room, Time deadline) {
  const std::size_t wanted = room.size();
  while (!room.empty()) {
    CO_ASSIGN_OR_RETURN(const std::size_t got, co_await Read(from, room, deadline));
    if (got == 0) {
      co_return absl::OutOfRangeError(absl::StrCat("read descriptor ", from.fd(),
                                                   ": it ended after ", wanted - room.size(),
                                                   " of ", wanted, " bytes"));
    }
    room = room.subspan(got);
  }
  co_return absl::OkStatus();
}

Task<absl::Status> WriteAll(const Descriptor& to, std::span<const std::byte> bytes, Time deadline) {
  while (!bytes.empty()) {
    const ssize_t written = write(to.fd(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
      continue;
    }
    if (!MustWait(errno)) co_return TransferError(errno, "write", to.fd());
    CO_RETURN_IF_ERROR(co_await to.selector().Writable(to.fd(), deadline));
  }
  co_return absl::OkStatus();
}

}  // namespace drydock::coro
