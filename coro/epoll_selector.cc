#include "drydock/coro/epoll_selector.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/wait_list.h"

namespace drydock::coro {
namespace {

// Events that one system call fetches at most: enough to amortise it.
constexpr std::size_t kBatch = 64;

void IgnoreBrokenPipes() {
  struct sigaction now {};
  if (sigaction(SIGPIPE, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
  std::signal(SIGPIPE, SIG_IGN);
}

absl::Status WaitError(absl::StatusCode code, int fd, const char* why) {
  return absl::Status(code, absl::StrCat("wait for descriptor ", fd, ": ", why));
}

}  // namespace

// Lives in the frame of the coroutine that waits, and leaves the selector when that dies.
class EpollSelector::Waiter : public ListNode {
 public:
  Waiter(EpollSelector& selector, int fd) : selector_(selector), fd_(fd) {}
  ~Waiter() {
    if (!linked()) return;
    Unlink();
    if (waits_) selector_.Left(fd_);
  }

  // Waits to be woken; false when the deadline came first.
  WaitList::Waiter Woken(Time deadline) { return woken_.Wait(deadline); }
  bool forgotten() const { return forgotten_; }

  // It is in no list, and waits no more.
  void Wake() {
    waits_ = false;
    woken_.NotifyOne();
  }
  void Forget() { forgotten_ = true; }

 private:
  EpollSelector& selector_;
  const int fd_;
  bool waits_ = true;
  bool forgotten_ = false;
  WaitList woken_;
};

absl::StatusOr<std::unique_ptr<EpollSelector>> EpollSelector::Open(EventLoop& loop) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) return absl::ErrnoToStatus(errno, "open an epoll instance");
  IgnoreBrokenPipes();
  return std::unique_ptr<EpollSelector>(new EpollSelector(loop, epoll));
}

EpollSelector::EpollSelector(EventLoop& loop, int epoll) : loop_(loop), epoll_(epoll) {
  loop_.AddSelector(*this);
}

EpollSelector::~EpollSelector() {
  DD_CHECK(waiting_ == 0, "a coroutine still waits for a descriptor");
  loop_.RemoveSelector(*this);
  close(epoll_);
}

Task<absl::Status> EpollSelector::Readable(int fd, Time deadline) {
  return Ready(fd, kRead, deadline);
}

Task<absl::Status> EpollSelector::Writable(int fd, Time deadline) {
  return Ready(fd, kWrite, deadline);
}

Task<absl::Status> EpollSelector::Ready(int fd, Direction direction, Time deadline) {
  Waiter waiter(*this, fd);
  Watch& watch = watches_[fd];
  watch.waiters[direction].PushBack(waiter);
  ++waiting_;
  const int error = Arm(fd, watch);
  if (error == EPERM) co_return absl::OkStatus();  // a file on a disk
  if (error == EBADF) {
    co_return WaitError(absl::StatusCode::kInvalidArgument, fd, "it is not open");
  }
  if (error != 0) {
    co_return absl::ErrnoToStatus(error, absl::StrCat("wait for descriptor ", fd));
  }
  const bool woken = co_await waiter.Woken(deadline);
  if (!woken) {
    co_return WaitError(absl::StatusCode::kDeadlineExceeded, fd, "the deadline has passed");
  }
  if (waiter.forgotten()) {
    co_return WaitError(absl::StatusCode::kCancelled, fd, "it was closed");
  }
  co_return absl::OkStatus();
}

void EpollSelector::Forget(int fd) {
  const auto found = watches_.find(fd);
  if (found == watches_.end()) return;
  for (IntrusiveList<Waiter>& waiters : found->second.waiters) EndAll(waiters);
  while (Waiter* waiter = found->second.woken.PopFront()) waiter->Forget();
  watches_.erase(found);
  Disarm(fd);
}

// One event, then silence: an event that no task waits for any more comes once and not every turn.
int EpollSelector::Arm(int fd, const Watch& watch) {
  epoll_event event{};
  event.events = EPOLLONESHOT;
  if (!watch.waiters[kRead].empty()) event.events |= EPOLLIN | EPOLLRDHUP;
  if (!watch.waiters[kWrite].empty()) event.events |= EPOLLOUT;
  event.data.fd = fd;
  // The kernel forgets a descriptor when it is closed, and its number comes back as another one's:
  // only the kernel knows whether this one is new.
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0) return 0;
  if (errno != ENOENT) return errno;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

void EpollSelector::Disarm(int fd) {
  epoll_event unused{};
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, &unused);  // fails where it is closed, which is as well
}

std::size_t EpollSelector::Poll(std::size_t budget) {
  if (waiting_ == 0) return 0;
  std::array<epoll_event, kBatch> events;  // filled by the kernel
  const int most = static_cast<int>(std::min(budget, events.size()));
  const int got = epoll_wait(epoll_, events.data(), most, 0);
  for (int i = 0; i < got; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    OnEvent(event.data.fd, event.events);
  }
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

void EpollSelector::OnEvent(int fd, std::uint32_t events) {
  const auto found = watches_.find(fd);
  if (found == watches_.end()) return;
  Watch& watch = found->second;
  const bool failed = (events & (EPOLLERR | EPOLLHUP)) != 0;
  if (failed || (events & (EPOLLIN | EPOLLRDHUP)) != 0) WakeAll(watch.waiters[kRead], watch);
  if (failed || (events & EPOLLOUT) != 0) WakeAll(watch.waiters[kWrite], watch);
  if (watch.waiters[kRead].empty() && watch.waiters[kWrite].empty()) return;
  if (Arm(fd, watch) != 0) {
    for (IntrusiveList<Waiter>& waiters : watch.waiters) EndAll(waiters);
  }
}

void EpollSelector::WakeAll(IntrusiveList<Waiter>& waiters, Watch& watch) {
  while (Waiter* waiter = waiters.PopFront()) {
    --waiting_;
    waiter->Wake();
    watch.woken.PushBack(*waiter);
  }
}

void EpollSelector::EndAll(IntrusiveList<Waiter>& waiters) {
  while (Waiter* waiter = waiters.PopFront()) {
    --waiting_;
    waiter->Forget();
    waiter->Wake();
  }
}

void EpollSelector::Left(int fd) {
  --waiting_;
  const auto found = watches_.find(fd);
  const Watch& watch = found->second;
  if (watch.waiters[kRead].empty() && watch.waiters[kWrite].empty()) {
    if (watch.woken.empty()) watches_.erase(found);
    Disarm(fd);
  } else {
    Arm(fd, watch);
  }
}

bool EpollSelector::Wait(Time deadline) {
  if (waiting_ == 0 && deadline == kNever) return false;
  // Not epoll_wait, whose milliseconds would be up to one late or cost a spin: an epoll instance is
  // a descriptor that can be polled itself, to the nanosecond.
  pollfd epoll{.fd = epoll_, .events = POLLIN, .revents = 0};
  timespec timeout{};
  if (deadline != kNever) {
    const Duration left = std::max(deadline - loop_.clock().Now(), Duration::zero());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    timeout.tv_sec = seconds.count();
    timeout.tv_nsec = (left - seconds).count();
  }
  // Interrupted by a signal, it returns early, which a selector may.
  ppoll(&epoll, 1, deadline == kNever ? nullptr : &timeout, nullptr);
  return true;
}

}  // namespace drydock::coro
