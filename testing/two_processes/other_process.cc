#include "drydock/testing/two_processes/other_process.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace drydock::two_processes {
namespace {

constexpr char kGo = 'g';    // to the fork server: a process; to a process: a call; back: done
constexpr char kDied = 'd';  // from the fork server

[[noreturn]] void Die(const char* why) {
  std::fprintf(stderr, "two processes: %s\n", why);
  std::fflush(nullptr);
  _exit(3);
}

void* MapShared(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) Die(std::strerror(errno));
  return memory;
}

void Say(int socket, char word) {
  while (write(socket, &word, 1) != 1) {
    if (errno != EINTR) Die("the other process is gone");
  }
}

// 0 when the process has ended.
char Hear(int socket) {
  char word = 0;
  while (true) {
    const ssize_t heard = read(socket, &word, 1);
    if (heard == 1) return word;
    if (heard == 0 || errno != EINTR) return 0;
  }
}

void DieWithParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(3);
}

// To the namespaces of another process, which are another computer's. Our folder there is the same.
void MoveToComputer(const char* process) {
  char folder[PATH_MAX];
  const int computer = static_cast<int>(syscall(SYS_pidfd_open, std::atoi(process), 0));
  if (getcwd(folder, sizeof folder) == nullptr || computer < 0 ||
      setns(computer, CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS) != 0 || chdir(folder) != 0) {
    const int error = errno;
    char why[128];
    std::snprintf(why, sizeof why, "enter the namespaces of process %s: %s", process,
                  std::strerror(error));
    Die(why);
  }
  close(computer);
}

}  // namespace

OtherProcess& OtherProcess::Get() {
  // Never destroyed: the fork server ends when its parent does.
  static OtherProcess* const process = new OtherProcess;
  return *process;
}

OtherProcess::OtherProcess()
    : mailbox_(new (MapShared(sizeof(Mailbox))) Mailbox),
      arena_(static_cast<std::byte*>(MapShared(kSharedBytes))),
      memory_(arena_, kSharedBytes, std::pmr::null_memory_resource()),
      pool_({.max_blocks_per_chunk = 16, .largest_required_pool_block = 2 << 20}, &memory_) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) Die(std::strerror(errno));
  std::fflush(nullptr);
  const pid_t self = getpid();
  const pid_t fork_server = fork();
  if (fork_server < 0) Die(std::strerror(errno));
  socket_ = ends[fork_server == 0 ? 1 : 0];
  close(ends[fork_server == 0 ? 0 : 1]);
  if (fork_server == 0) {
    DieWithParent(self);
    const char* computer = std::getenv("DRYDOCK_OTHER_COMPUTER");
    if (computer != nullptr) MoveToComputer(computer);
    ForkProcesses();
  }
}

void OtherProcess::ForkProcesses() {
  const pid_t self = getpid();
  while (Hear(socket_) == kGo) {
    const pid_t process = fork();
    if (process == 0) {
      DieWithParent(self);
      Serve();
    }
    int status = 0;
    if (process < 0 || waitpid(process, &status, 0) != process) Die(std::strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    std::fprintf(stderr, "two processes: the other one ended with %s %d\n",
                 WIFSIGNALED(status) ? "signal" : "exit status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    Say(socket_, kDied);
  }
  _exit(0);
}

void OtherProcess::Serve() {
  Say(socket_, kGo);
  while (Hear(socket_) == kGo) {
    if (mailbox_->run == nullptr) {
      std::fflush(nullptr);
      Say(socket_, kGo);
      _exit(0);
    }
    mailbox_->run(*mailbox_);
    Say(socket_, kGo);
  }
  _exit(0);
}

void OtherProcess::Begin() {
  pool_.release();
  memory_.release();
  Say(socket_, kGo);
  if (Hear(socket_) != kGo) Die("no other process came");
}

void OtherProcess::End() {
  mailbox_->run = nullptr;
  RunOverThere();
}

void OtherProcess::RunOverThere() {
  Say(socket_, kGo);
  if (Hear(socket_) != kGo) Die("the other process died during a call");
}

}  // namespace drydock::two_processes
