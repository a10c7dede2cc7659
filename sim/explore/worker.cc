#include "drydock/sim/explore/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"
#include "drydock/sim/explore/run_seed.h"

namespace drydock::sim::explore {
namespace {

// How a child ends whose seed will not, after it has told its result.
constexpr int kPolledForEver = 75;

// How long a child keeps results to itself while it runs other seeds.
constexpr coro::Duration kTellEvery = std::chrono::milliseconds(10);

// Writes all of it, or ends the process: the parent does not read any more.
void WriteAll(int descriptor, std::string& bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t written = write(descriptor, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  bytes.clear();
}

// The child. _exit: the bytes that the parent has buffered for its streams are the parent's to
// write.
[[noreturn]] void RunRange(int descriptor, const SeedRange& range,
                           std::atomic<std::uint64_t>& running,
                           const std::function<SeedResult(std::uint64_t seed)>& run) {
  const coro::SteadyClock clock;
  coro::Time due = clock.Now();
  std::string bytes;
  SetEndProcess([&](const SeedResult& result) {
    AppendRecord(bytes, result);
    WriteAll(descriptor, bytes);
    _exit(kPolledForEver);
  });
  for (std::uint64_t seed = range.first;; ++seed) {
    // One write for many short seeds: each one wakes the reader.
    if (const coro::Time now = clock.Now(); now >= due) {
      WriteAll(descriptor, bytes);
      due = coro::After(now, kTellEvery);
    }
    running.store(seed, std::memory_order_relaxed);
    AppendRecord(bytes, run(seed));
    if (seed == range.last) break;
  }
  WriteAll(descriptor, bytes);
  _exit(0);
}

}  // namespace

absl::StatusOr<Worker::SharedSeed> Worker::ShareSeed(std::uint64_t seed) {
  using Seed = std::atomic<std::uint64_t>;
  static_assert(Seed::is_always_lock_free, "two processes share it");
  void* const page =
      mmap(nullptr, sizeof(Seed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return absl::InternalError(absl::StrCat("start a worker: mmap: ", std::strerror(errno)));
  }
  return SharedSeed(new (page) Seed(seed), [](void* mapped) { munmap(mapped, sizeof(Seed)); });
}

absl::StatusOr<std::unique_ptr<Worker>> Worker::Start(
    const SeedRange& range, const std::function<SeedResult(std::uint64_t seed)>& run) {
  ASSIGN_OR_RETURN(SharedSeed running, ShareSeed(range.first));
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return absl::InternalError(absl::StrCat("start a worker: pipe: ", std::strerror(errno)));
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    // Without its parent nobody reads what it tells, and a seed may run for ever.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    close(ends[0]);
    RunRange(ends[1], range, *running, run);
  }
  const int error = errno;
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return absl::InternalError(absl::StrCat("start a worker: fork: ", std::strerror(error)));
  }
  return std::unique_ptr<Worker>(new Worker(pid, ends[0], range, std::move(running)));
}

Worker::~Worker() {
  if (!reaped_) {
    Kill();
    Reap();
  }
  close(descriptor_);
}

absl::Status Worker::Await(std::span<Worker* const> workers, coro::Duration patience) {
  using std::chrono::milliseconds;
  // Short beside the patience: the rest of a longer wait is the time of a process that was stopped.
  const coro::Duration most =
      std::clamp<coro::Duration>(patience / 8, milliseconds(1), milliseconds(1000));
  std::vector<pollfd> descriptors;
  for (const Worker* worker : workers) descriptors.push_back({worker->descriptor_, POLLIN, 0});
  const auto wait = std::chrono::duration_cast<milliseconds>(most).count();
  const int ready = poll(descriptors.data(), descriptors.size(), static_cast<int>(wait));
  if (ready < 0 && errno != EINTR) {
    return absl::InternalError(absl::StrCat("wait for workers: poll: ", std::strerror(errno)));
  }
  const coro::Time now = coro::SteadyClock().Now();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    Worker& worker = *workers[i];
    worker.readable_ = ready > 0 && descriptors[i].revents != 0;
    const coro::Duration passed = std::min(most, now - std::exchange(worker.looked_, now));
    worker.silent_ = worker.readable_ ? coro::Duration() : worker.silent_ + passed;
  }
  return absl::OkStatus();
}

bool Worker::Read(const std::function<void(const SeedResult&)>& ended) {
  std::array<char, 1 << 16> bytes;
  ssize_t length = 0;
  do {
    length = read(descriptor_, bytes.data(), bytes.size());
  } while (length < 0 && errno == EINTR);
  if (length <= 0) return false;
  buffer_.append(bytes.data(), static_cast<std::size_t>(length));
  std::string_view rest = buffer_;
  while (const std::optional<SeedResult> result = TakeRecord(rest)) {
    untold_ = result->seed + 1;
    ended(*result);
  }
  buffer_.erase(0, buffer_.size() - rest.size());
  return true;
}

void Worker::Kill() { kill(pid_, SIGKILL); }

std::string Worker::Reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  if (untold_ == range_.last + 1) return "";
  if (untold_ == begun() + 1 && WIFEXITED(status) && WEXITSTATUS(status) == kPolledForEver)
    return "";
  if (WIFSIGNALED(status)) {
    return absl::StrCat("ended by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)),
                        ")");
  }
  return absl::StrCat("ended its process with status ", WEXITSTATUS(status));
}

}  // namespace drydock::sim::explore
