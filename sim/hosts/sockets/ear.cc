#include "drydock/sim/hosts/sockets/ear.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace drydock::sim {

absl::StatusOr<std::unique_ptr<Ear>> Ear::Make(int sockets) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const int stop = epoll < 0 ? -1 : eventfd(0, EFD_CLOEXEC);
  if (stop >= 0) return std::unique_ptr<Ear>(new Ear(sockets, epoll, stop));
  absl::Status failure = absl::UnavailableError(absl::StrCat("epoll: ", std::strerror(errno)));
  if (epoll >= 0) close(epoll);
  return failure;
}

Ear::Ear(int sockets, int epoll, int stop) : sockets_(sockets), epoll_(epoll), stop_(stop) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = stop_}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, stop_, &event);
  event = {.events = 0, .data = {.fd = sockets_}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, sockets_, &event);
}

void Ear::Start(std::function<void()> heard) {
  heard_ = std::move(heard);
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), "drydock-ear");
}

Ear::~Ear() {
  const std::uint64_t one = 1;
  if (thread_.joinable() && write(stop_, &one, sizeof(one)) > 0) thread_.join();
  close(stop_);
  close(epoll_);
}

void Ear::Arm() {
  epoll_event event{.events = EPOLLIN | EPOLLONESHOT, .data = {.fd = sockets_}};
  epoll_ctl(epoll_, EPOLL_CTL_MOD, sockets_, &event);
}

void Ear::Run() {
  while (true) {
    epoll_event event{};
    const int count = epoll_wait(epoll_, &event, 1, -1);
    if (count <= 0) continue;
    if (event.data.fd == stop_) return;
    heard_();
  }
}

}  // namespace drydock::sim
