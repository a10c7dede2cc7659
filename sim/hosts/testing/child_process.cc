#include "drydock/sim/hosts/testing/child_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "gtest/gtest.h"

namespace drydock::sim_testing {

void Talk::Write(const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(out_, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(3);
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void Talk::Read(void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t taken = read(in_, at, bytes);
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) {
      std::cerr << "the other process is gone" << std::endl;
      _exit(3);
    }
    at += taken;
    bytes -= static_cast<std::size_t>(taken);
  }
}

bool Talk::HasNews() const {
  pollfd poller{.fd = in_, .events = POLLIN, .revents = 0};
  return poll(&poller, 1, 0) > 0;
}

ChildProcess::ChildProcess(const std::function<void(Talk&)>& body) {
  int to_child[2];
  int to_parent[2];
  if (pipe(to_child) != 0 || pipe(to_parent) != 0) std::abort();
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) std::abort();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(3);
    close(to_child[1]);
    close(to_parent[0]);
    Talk talk(to_child[0], to_parent[1]);
    body(talk);
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  close(to_child[0]);
  close(to_parent[1]);
  fds_[0] = to_parent[0];
  fds_[1] = to_child[1];
  talk_ = Talk(fds_[0], fds_[1]);
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) Kill();
  for (const int fd : fds_) close(fd);
}

void ChildProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  Wait();
}

int ChildProcess::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace drydock::sim_testing
