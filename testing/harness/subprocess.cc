#include "drydock/testing/harness/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"

extern char** environ;

namespace drydock::harness {
namespace {

using namespace std::chrono_literals;

absl::Status SystemError(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// The descriptors of a program's streams: `child` becomes its standard streams, `parent` is what we
// read. Those of the child are closed with this object.
struct Streams {
  Streams() = default;
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() {
    for (const int descriptor : child) {
      if (descriptor >= 0) close(descriptor);
    }
  }

  std::array<int, 3> child = {-1, -1, -1};
  std::array<int, 2> parent = {-1, -1};
};

void CloseOnExec(int descriptor) { fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

absl::Status OpenPipes(Streams& streams, bool merge) {
  streams.child[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (streams.child[0] < 0) return SystemError("open /dev/null");
  for (std::size_t i = 0; i < (merge ? 1 : 2); ++i) {
    int ends[2];
    if (pipe(ends) != 0) return SystemError("pipe");
    for (const int end : ends) CloseOnExec(end);
    streams.parent[i] = ends[0];
    streams.child[i + 1] = ends[1];
  }
  if (merge) streams.child[2] = fcntl(streams.child[1], F_DUPFD_CLOEXEC, 0);
  return absl::OkStatus();
}

absl::Status OpenTerminal(Streams& streams) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0) return SystemError("open a pseudo terminal");
  CloseOnExec(master);
  streams.parent[0] = master;
  if (grantpt(master) != 0 || unlockpt(master) != 0) return SystemError("unlock a pseudo terminal");
  for (int& descriptor : streams.child) {
    descriptor = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0) return SystemError("open the other side of a pseudo terminal");
  }
  termios mode;
  if (tcgetattr(streams.child[0], &mode) != 0) return SystemError("read a terminal's mode");
  mode.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  if (tcsetattr(streams.child[0], TCSANOW, &mode) != 0) return SystemError("set a terminal's mode");
  return absl::OkStatus();
}

// In the child, between fork and exec: system calls only.
[[noreturn]] void BecomeProgram(const Streams& streams, char* const* arguments, char* const* env,
                                pid_t parent, bool terminal) {
  setsid();
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
#else
  static_cast<void>(parent);
#endif
  for (int i = 0; i < 3; ++i) dup2(streams.child[static_cast<std::size_t>(i)], i);
  if (terminal) ioctl(0, TIOCSCTTY, 0);
  execve(arguments[0], arguments, env);
  _exit(127);
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A child begins in this process's folder, also under `bazel run`, whose variable would send it to
// that of its caller.
std::vector<std::string> Environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "="));
    if (name == "BUILD_WORKING_DIRECTORY" || changes.count(name) > 0) continue;
    result.emplace_back(*entry);
  }
  for (const auto& [name, value] : changes) result.push_back(absl::StrCat(name, "=", value));
  return result;
}

}  // namespace

std::string ProcessEnd::LastLine() const {
  const std::size_t end = out.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t before = out.rfind('\n', end);
  const std::size_t start = before == std::string::npos ? 0 : before + 1;
  return out.substr(start, end + 1 - start);
}

std::ostream& operator<<(std::ostream& stream, const ProcessEnd& end) {
  return stream << "exit code " << end.exit_code << ", signal " << end.signal << "\n--- out:\n"
                << end.out << "--- err:\n"
                << end.err << "---";
}

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

absl::StatusOr<std::unique_ptr<Subprocess>> Subprocess::Start(
    const std::vector<std::string>& command, const SubprocessOptions& options) {
  std::unique_ptr<Subprocess> process(new Subprocess(options));
  Streams streams;
  const absl::Status opened =
      options.terminal ? OpenTerminal(streams) : OpenPipes(streams, options.merge_streams);
  for (std::size_t i = 0; i < 2; ++i) process->outputs_[i].descriptor = streams.parent[i];
  RETURN_IF_ERROR(opened);
  std::vector<std::string> arguments = command;
  std::vector<std::string> environment = Environment(options.environment);
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const std::vector<char*> environment_pointers = Pointers(environment);
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child == 0) {
    BecomeProgram(streams, argument_pointers.data(), environment_pointers.data(), self,
                  options.terminal);
  }
  if (child < 0) return SystemError(absl::StrCat("start ", command[0], ": fork"));
  process->pid_ = child;
  return process;
}

absl::StatusOr<ProcessEnd> Subprocess::Run(const std::vector<std::string>& command,
                                           const SubprocessOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Subprocess> process, Start(command, options));
  return process->Finish();
}

Subprocess::~Subprocess() {
  if (pid_ > 0 && !reaped_) {
    kill(-pid_, SIGKILL);  // the group that it leads; not yet there if it only just began
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  for (const Output& output : outputs_) {
    if (output.descriptor >= 0) close(output.descriptor);
  }
}

absl::StatusOr<std::string> Subprocess::WaitForLine(absl::string_view text, Stream stream) {
  const coro::Time deadline = coro::After(clock_.Now(), patience_);
  Output& from = output(stream);
  for (;;) {
    for (;;) {
      const std::size_t end = from.text.find('\n', from.seen);
      if (end == std::string::npos) break;
      const std::string line = from.text.substr(from.seen, end - from.seen);
      from.seen = end + 1;
      if (line.find(std::string(text)) != std::string::npos) return line;
    }
    ASSIGN_OR_RETURN(const bool more, ReadMore(deadline, text));
    if (!more) {
      return absl::OutOfRangeError(
          absl::StrCat("the program ended without a line '", text, "'\n", Printed()));
    }
  }
}

absl::Status Subprocess::WaitForText(absl::string_view text, Stream stream) {
  const coro::Time deadline = coro::After(clock_.Now(), patience_);
  Output& from = output(stream);
  for (;;) {
    const std::size_t found = from.text.find(std::string(text), from.seen);
    if (found != std::string::npos) {
      from.seen = found + text.size();
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const bool more, ReadMore(deadline, text));
    if (!more) {
      return absl::OutOfRangeError(
          absl::StrCat("the program ended without '", text, "'\n", Printed()));
    }
  }
}

absl::StatusOr<ProcessEnd> Subprocess::Finish() {
  DD_CHECK(!reaped_, "the program's end was read before");
  const coro::Time deadline = coro::After(clock_.Now(), patience_);
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(more, ReadMore(deadline, "the program's end"));
  }
  // The kernel closes a dying process's streams a moment before the process can be reaped.
  int status = 0;
  pid_t result = 0;
  while ((result = waitpid(pid_, &status, WNOHANG)) == 0 || (result < 0 && errno == EINTR)) {
    if (clock_.Now() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("the program closed its output and does not end\n", Printed()));
    }
    poll(nullptr, 0, 1);
  }
  if (result < 0) return SystemError("waitpid");
  reaped_ = true;
  ProcessEnd end;
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  end.out = outputs_[0].text;
  end.err = outputs_[1].text;
  return end;
}

void Subprocess::Signal(int number) {
  DD_CHECK(!reaped_, "signal to a program that ended");
  kill(pid_, number);
}

absl::StatusOr<bool> Subprocess::ReadMore(coro::Time deadline, absl::string_view waiting_for) {
  std::vector<pollfd> waits;
  for (const Output& output : outputs_) {
    if (output.descriptor >= 0) waits.push_back({output.descriptor, POLLIN, 0});
  }
  if (waits.empty()) return false;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock_.Now());
  const int ready =
      poll(waits.data(), waits.size(), std::max<int>(0, static_cast<int>(left.count())));
  if (ready < 0 && errno != EINTR) return SystemError("poll");
  if (ready == 0) {
    return absl::DeadlineExceededError(
        absl::StrCat("waited too long for '", waiting_for, "'\n", Printed()));
  }
  for (const pollfd& wait : waits) {
    if (ready < 0 || wait.revents == 0) continue;
    for (Output& output : outputs_) {
      if (output.descriptor == wait.fd) ReadFrom(output);
    }
  }
  return true;
}

void Subprocess::ReadFrom(Output& output) {
  char buffer[4096];
  const ssize_t count = read(output.descriptor, buffer, sizeof buffer);
  if (count < 0 && errno == EINTR) return;
  if (count > 0) {
    output.text.append(buffer, static_cast<std::size_t>(count));
    return;
  }
  // The end; a terminal tells it as an error.
  close(output.descriptor);
  output.descriptor = -1;
}

std::string Subprocess::Printed() const {
  return absl::StrCat("--- out:\n", outputs_[0].text, "--- err:\n", outputs_[1].text, "---");
}

std::string ProgramPath(const char* name) {
  const char* path = getenv(name);
  DD_CHECK(path != nullptr, "the environment variable with a program's path is not set");
  return path;
}

}  // namespace drydock::harness
