#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/doctor/probes.h"
#include "drydock/coro/steady_clock.h"

namespace drydock::apps::doctor {
namespace {

constexpr std::size_t kMaxAnswer = 64 << 10;
constexpr char kEnd = '\n';  // of an answer that is whole

[[noreturn]] void Child(int out, const std::function<std::string()>& work) {
  const int nowhere = open("/dev/null", O_RDWR);
  if (nowhere >= 0) {  // libraries talk; what they say is not our output
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  std::string answer = work().substr(0, kMaxAnswer);
  answer += kEnd;
  for (std::size_t sent = 0; sent < answer.size();) {
    const ssize_t length = write(out, answer.data() + sent, answer.size() - sent);
    if (length <= 0) break;
    sent += static_cast<std::size_t>(length);
  }
  _exit(0);  // no destructors: they are the parent's
}

// Reads until the other end is closed. False: not before `deadline`.
bool ReadUntil(int in, coro::Time deadline, std::string& answer) {
  coro::SteadyClock clock;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock.Now()).count();
    pollfd waiting{in, POLLIN, 0};
    const int ready = poll(&waiting, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    std::array<char, 4096> part;
    const ssize_t length = read(in, part.data(), part.size());
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return true;
    if (answer.size() <= kMaxAnswer) answer.append(part.data(), static_cast<std::size_t>(length));
  }
}

}  // namespace

absl::StatusOr<std::string> RunInChild(const std::function<std::string()>& work,
                                       coro::Duration limit) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return absl::AbortedError(absl::StrCat("no pipe: ", std::strerror(errno)));
  }
  const pid_t child = fork();
  if (child == 0) Child(ends[1], work);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return absl::AbortedError(absl::StrCat("no process: ", std::strerror(errno)));
  }
  std::string answer;
  const bool in_time = ReadUntil(ends[0], coro::SteadyClock().Now() + limit, answer);
  close(ends[0]);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) return absl::DeadlineExceededError("it does not answer");
  if (WIFSIGNALED(status)) {
    return absl::AbortedError(absl::StrCat("it ends its process: ", strsignal(WTERMSIG(status))));
  }
  if (answer.empty() || answer.back() != kEnd) {
    return absl::AbortedError(
        absl::StrCat("it ends its process with status ", WEXITSTATUS(status)));
  }
  answer.pop_back();
  return answer;
}

}  // namespace drydock::apps::doctor
