#include "drydock/coro/signals.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <cstddef>
#include <span>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::coro {

absl::StatusOr<std::unique_ptr<Signals>> Signals::Open(EpollSelector& selector,
                                                       std::initializer_list<int> signals) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : signals) {
    if (signal == SIGKILL || signal == SIGSTOP || sigaddset(&wanted, signal) != 0) {
      return absl::InvalidArgumentError(absl::StrCat("signal ", signal, " cannot be waited for"));
    }
  }
  sigset_t before;
  const int error = pthread_sigmask(SIG_BLOCK, &wanted, &before);
  if (error != 0) return absl::ErrnoToStatus(error, "block signals");
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : signals) {
    if (sigismember(&before, signal) == 0) sigaddset(&blocked, signal);
  }
  std::unique_ptr<Signals> opened(new Signals(blocked));
  const int fd = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, "wait for signals");
  opened->queue_ = Descriptor(selector, fd);
  return opened;
}

Signals::~Signals() { pthread_sigmask(SIG_UNBLOCK, &blocked_, nullptr); }

Task<absl::StatusOr<int>> Signals::Next(Time deadline) {
  signalfd_siginfo info{};
  CO_RETURN_IF_ERROR(
      co_await ReadAll(queue_, std::as_writable_bytes(std::span(&info, 1)), deadline));
  co_return static_cast<int>(info.ssi_signo);
}

}  // namespace drydock::coro
