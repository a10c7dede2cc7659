#include "drydock/sim/verbs/seed_runs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::sim::verbs {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Run {
  std::uint64_t seed = 0;
  File output;
  Descriptor returned;  // holds a byte when `become` has returned
  pid_t process = 0;
  Descriptor watched;            // readable when it is over; negative: there is none
  steady_clock::time_point end;  // of patience with it
  bool is_killed = false;        // because of that
};

absl::Status Failure(const char* what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// Its output; of one that is too long to read, the end.
std::string ReadOutput(int file) {
  constexpr off_t kMost = 1 << 20;
  struct stat status {};
  if (fstat(file, &status) != 0) return "";
  const off_t first = std::max<off_t>(status.st_size - kMost, 0);
  std::string text(static_cast<std::size_t>(status.st_size - first), '\0');
  std::size_t done = 0;
  while (done < text.size()) {  // at our own offset: processes left of the program may still write
    const ssize_t count =
        pread(file, text.data() + done, text.size() - done, first + static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return first == 0 ? text : absl::StrCat("[", first, " bytes before this]\n", text);
}

// In the new process. Descriptors of ours are none of the program's.
[[noreturn]] void Become(const Run& run, int returned, const Process& process) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // without its parent its output has no reader
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  dup2(fileno(run.output.get()), STDOUT_FILENO);
  dup2(fileno(run.output.get()), STDERR_FILENO);
  const int status = process();
  std::fflush(nullptr);
  static_cast<void>(write(returned, "", 1) == 1);
  _exit(status);
}

absl::StatusOr<Run> Begin(std::uint64_t seed, milliseconds patience, const Process& process) {
  Run run;
  run.seed = seed;
  run.end = steady_clock::now() + patience;
  run.output = File(std::tmpfile());
  if (run.output == nullptr) return Failure("a file for the output of a run");
  fcntl(fileno(run.output.get()), F_SETFD, FD_CLOEXEC);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return Failure("pipe");
  run.returned = Descriptor(ends[0]);
  const Descriptor returned(ends[1]);
  std::fflush(nullptr);  // or the child says it again
  run.process = fork();
  if (run.process < 0) return Failure("fork");
  if (run.process == 0) Become(run, returned.get(), process);
  run.watched = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, run.process, 0)));
  return run;
}

EndedRun Ended(const Run& run, int how) {
  char byte = 0;
  return {.seed = run.seed,
          .status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how),
          .signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0,
          .in_time = !run.is_killed || !WIFSIGNALED(how) || WTERMSIG(how) != SIGKILL,
          .was_run = read(run.returned.get(), &byte, 1) != 1,
          .output = ReadOutput(fileno(run.output.get()))};
}

using Runs = std::map<pid_t, Run>;

void KillLate(Runs& runs) {
  const auto now = steady_clock::now();
  for (auto& [process, run] : runs) {
    if (run.is_killed || now < run.end) continue;
    run.is_killed = true;
    kill(process, SIGKILL);
  }
}

// Between two looks at a run that has no descriptor to wait for.
constexpr milliseconds kGlance(10);

// Until one of them is over, or patience with one is.
void Rest(const Runs& runs) {
  const auto now = steady_clock::now();
  milliseconds left(1000);
  std::vector<pollfd> watched;
  for (const auto& [process, run] : runs) {
    watched.push_back({run.watched.get(), POLLIN, 0});
    if (run.watched.get() < 0) left = std::min(left, kGlance);
    if (run.is_killed) continue;
    left = std::min(left, std::chrono::ceil<milliseconds>(run.end - now));
  }
  poll(watched.data(), watched.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
}

// The next of them that is over.
absl::StatusOr<EndedRun> TakeNext(Runs& runs) {
  for (;;) {
    int how = 0;
    const pid_t process = waitpid(-1, &how, WNOHANG);
    if (process < 0 && errno != EINTR) return Failure("wait");
    if (process == 0) {  // those that are left are under way
      KillLate(runs);
      Rest(runs);
    }
    if (process <= 0) continue;
    const auto run = runs.extract(process);
    if (!run.empty()) return Ended(run.mapped(), how);
  }
}

}  // namespace

absl::StatusOr<SeedRange> ParseSeedRange(absl::string_view text) {
  SeedRange seeds;
  const std::size_t dots = text.find("..");
  const absl::string_view last = dots == text.npos ? text : text.substr(dots + 2);
  if (!absl::SimpleAtoi(text.substr(0, dots), &seeds.first) ||
      !absl::SimpleAtoi(last, &seeds.last) || seeds.last < seeds.first) {
    return absl::InvalidArgumentError(
        absl::StrCat("--seeds=", text, ": it takes two seeds, as in 1..1000, or one"));
  }
  return seeds;
}

absl::Status RunSeeds(const SeedRange& seeds, milliseconds patience,
                      const std::function<absl::StatusOr<Process>(std::uint64_t seed)>& begin,
                      const std::function<bool(const EndedRun& run)>& ended) {
  const std::size_t most = std::max(std::thread::hardware_concurrency(), 1u);
  std::signal(SIGCHLD, SIG_DFL);  // while it is ignored, exit statuses are lost
  Runs under_way;
  std::uint64_t begun = 0;
  bool goes_on = true;
  const auto more = [&] { return goes_on && begun <= seeds.last - seeds.first; };
  while (more() || !under_way.empty()) {
    while (more() && under_way.size() < most) {
      const std::uint64_t seed = seeds.first + begun;
      const absl::StatusOr<Process> program = begin(seed);
      absl::StatusOr<Run> run =
          program.ok() ? Begin(seed, patience, *program) : absl::StatusOr<Run>(program.status());
      if (!run.ok() && under_way.empty()) return run.status();
      if (!run.ok()) break;  // when one has ended, there may be room
      ++begun;
      const pid_t process = run->process;
      under_way.emplace(process, *std::move(run));
    }
    ASSIGN_OR_RETURN(const EndedRun run, TakeNext(under_way));
    goes_on = ended(run) && goes_on;
  }
  return absl::OkStatus();
}

absl::StatusOr<EndedRun> RunAlone(const Process& process, milliseconds patience) {
  std::signal(SIGCHLD, SIG_DFL);
  ASSIGN_OR_RETURN(Run run, Begin(0, patience, process));
  Runs alone;
  const pid_t number = run.process;
  alone.emplace(number, std::move(run));
  return TakeNext(alone);
}

}  // namespace drydock::sim::verbs
