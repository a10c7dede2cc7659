#include "drydock/sim/hosts/sockets/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"
#include "drydock/sim/hosts/sockets/key.h"
#include "drydock/sim/hosts/sockets/rendezvous.h"
#include "drydock/sim/hosts/sockets/socket.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

// Between two programs of one job.
constexpr coro::Duration kLinger = 5s;

// Closes the program's files but these two: a reader at the other end of its pipes would wait for
// them.
void LetGoOfFiles(int listening, int starter) {
  int next = 3;
  for (const int kept : {std::min(listening, starter), std::max(listening, starter)}) {
    if (kept > next) close_range(static_cast<unsigned>(next), static_cast<unsigned>(kept - 1), 0);
    next = kept + 1;
  }
  close_range(static_cast<unsigned>(next), ~0u, 0);
  const int nothing = open("/dev/null", O_RDWR);  // by now there is room for it
  for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);
  if (nothing >= 3) close(nothing);
}

// A connection of each machine, and of each program, is a file: the usual 1,024 are fewer than
// those of four full networks.
void AllowMoreFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

[[noreturn]] void Serve(Socket listening, const Key& key, int starter) {
  coro::SteadyClock clock;
  AllowMoreFiles();
  Rendezvous rendezvous(std::move(listening), key);
  coro::Time needed = clock.Now();
  while (clock.Now() - needed < kLinger) {
    rendezvous.Turn();
    pollfd ended{.fd = starter, .events = POLLIN, .revents = 0};
    if (rendezvous.is_needed() || poll(&ended, 1, 0) == 0) needed = clock.Now();
  }
  _exit(0);
}

// The exit status of a child of ours; 0 where the program has nobody wait for children.
int StatusOf(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 0;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : ECANCELED;
}

}  // namespace

absl::StatusOr<bool> ServeIfFirst(const NetworkName& network, const std::string& key_file) {
  ASSIGN_OR_RETURN(const SocketAddress address, SocketAddress::Of(network.host, network.port));
  absl::StatusOr<Socket> listening = Socket::Bind(address);
  const bool others = listening.status().code() == absl::StatusCode::kAlreadyExists ||
                      listening.status().code() == absl::StatusCode::kOutOfRange;
  if (others) return false;
  if (!listening.ok()) {
    return absl::Status(listening.status().code(),
                        absl::StrCat(network.Text(), ": ", listening.status().message()));
  }
  // First the key: a process that can connect then finds it.
  ASSIGN_OR_RETURN(const Key key, ReadOrMakeKey(key_file));
  if (!listening->Listen().ok()) return false;  // another process was faster
  const int starter = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  if (starter < 0) {
    return absl::UnavailableError(absl::StrCat("pidfd_open: ", std::strerror(errno)));
  }
  const pid_t child = fork();
  if (child == 0) {
    // A program may have been started without its standard files: ours would be in their places.
    const int heard = fcntl(listening->fd(), F_DUPFD_CLOEXEC, 3);
    const int ended = heard < 0 ? -1 : fcntl(starter, F_DUPFD_CLOEXEC, 3);
    if (ended < 0) _exit(errno);  // a server that hears of nobody's end would stay for ever
    // A grandchild serves: it is no child of the program that we become, which cannot wait for it
    // by mistake.
    setsid();
    const pid_t server = fork();
    if (server != 0) _exit(server < 0 ? errno : 0);
    LetGoOfFiles(heard, ended);
    if (chdir("/") != 0) _exit(1);
    Serve(Socket(heard), key, ended);
  }
  close(starter);
  if (child < 0) return absl::UnavailableError(absl::StrCat("fork: ", std::strerror(errno)));
  if (const int error = StatusOf(child); error != 0) {
    return absl::UnavailableError(absl::StrCat("rendezvous: ", std::strerror(error)));
  }
  return true;
}

}  // namespace drydock::sim
