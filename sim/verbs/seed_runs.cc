#include "drydock/sim/verbs/seed_runs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
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

struct Run {
  std::uint64_t seed = 0;
  File output;
  Descriptor returned;  // holds a byte when `become` has returned
  pid_t process = 0;
};

absl::Status Failure(const char* what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

std::string ReadAll(std::FILE* file) {
  std::string all;
  std::array<char, 4096> piece;
  std::rewind(file);
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), file)) {
    all.append(piece.data(), count);
  }
  return all;
}

// In the new process. Descriptors of ours are none of the program's.
[[noreturn]] void Become(const Run& run, int returned, const Process& process) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left who would read what it says
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  dup2(fileno(run.output.get()), STDOUT_FILENO);
  dup2(fileno(run.output.get()), STDERR_FILENO);
  const int status = process();
  std::fflush(nullptr);
  static_cast<void>(write(returned, "", 1) == 1);
  _exit(status);
}

absl::StatusOr<Run> Begin(std::uint64_t seed, const Process& process) {
  Run run;
  run.seed = seed;
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
  return run;
}

EndedRun Ended(const Run& run, int how) {
  char byte = 0;
  return {.seed = run.seed,
          .status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how),
          .signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0,
          .in_time = true,
          .was_run = read(run.returned.get(), &byte, 1) != 1,
          .output = ReadAll(run.output.get())};
}

// Where the kernel cannot tell, there is no end to patience.
bool EndsSoon(pid_t process, std::chrono::milliseconds patience) {
  const Descriptor watched(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (watched.get() < 0) return true;
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + patience;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd descriptor{watched.get(), POLLIN, 0};
    if (poll(&descriptor, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1000))) > 0) {
      return true;
    }
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

absl::Status RunSeeds(const SeedRange& seeds,
                      const std::function<absl::StatusOr<Process>(std::uint64_t seed)>& begin,
                      const std::function<bool(const EndedRun& run)>& ended) {
  const std::size_t most = std::max(std::thread::hardware_concurrency(), 1u);
  std::signal(SIGCHLD, SIG_DFL);  // who ignores it is not told how a process ended
  std::map<pid_t, Run> under_way;
  std::uint64_t begun = 0;
  bool goes_on = true;
  const auto more = [&] { return goes_on && begun <= seeds.last - seeds.first; };
  while (more() || !under_way.empty()) {
    while (more() && under_way.size() < most) {
      const std::uint64_t seed = seeds.first + begun;
      const absl::StatusOr<Process> program = begin(seed);
      absl::StatusOr<Run> run =
          program.ok() ? Begin(seed, *program) : absl::StatusOr<Run>(program.status());
      if (!run.ok() && under_way.empty()) return run.status();
      if (!run.ok()) break;  // when one has ended, there may be room
      ++begun;
      const pid_t process = run->process;
      under_way.emplace(process, *std::move(run));
    }
    int how = 0;
    const pid_t process = wait(&how);
    if (process < 0) return Failure("wait");
    const auto run = under_way.extract(process);
    if (!run.empty()) goes_on = ended(Ended(run.mapped(), how)) && goes_on;
  }
  return absl::OkStatus();
}

absl::StatusOr<EndedRun> RunAlone(const Process& process, std::chrono::milliseconds patience) {
  std::signal(SIGCHLD, SIG_DFL);
  ASSIGN_OR_RETURN(const Run run, Begin(0, process));
  const bool in_time = EndsSoon(run.process, patience);
  if (!in_time) kill(run.process, SIGKILL);
  int how = 0;
  while (waitpid(run.process, &how, 0) < 0) {
    if (errno != EINTR) return Failure("wait");
  }
  EndedRun ended = Ended(run, how);
  ended.in_time = in_time;
  return ended;
}

std::string AsShellWords(const std::vector<std::string>& words) {
  static constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  return absl::StrJoin(words, " ", [](std::string* out, const std::string& word) {
    const bool plain = !word.empty() && word.find_first_not_of(kPlain) == word.npos;
    // What a terminal would take for more than letters is written out.
    const bool strange = std::any_of(word.begin(), word.end(),
                                     [](char letter) { return letter < ' ' || letter > '~'; });
    if (strange) {
      absl::StrAppend(out, "$'", absl::CEscape(word), "'");
    } else if (plain) {
      absl::StrAppend(out, word);
    } else {
      absl::StrAppend(out, "'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
    }
  });
}

}  // namespace drydock::sim::verbs
