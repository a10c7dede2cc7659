// The cases' processes, and what they say.

#include "drydock/apps/dmabuf/kinds.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/device_choice.h"
#include "drydock/coro/status_macros.h"
#include "drydock/gpu/cuda/cuda_driver.h"
#include "drydock/gpu/host_device/host_driver.h"

namespace drydock::apps::dmabuf {
namespace {

constexpr std::chrono::seconds kPatience(30);
// So many processes open the GPU at a time.
constexpr std::size_t kAtOnce = 8;

// How a process of a case ends.
enum Exit : int { kSaid = 0, kNoSuchDevice = 3, kNoDevice = 4 };

Exit RunHere(const std::string& name, const KindCase& one, std::string& said) {
  const absl::StatusOr<DeviceChoice> choice = ChooseDevice(name);
  if (!choice.ok()) {
    said = std::string(choice.status().message());
    return choice.status().code() == absl::StatusCode::kInvalidArgument ? kNoSuchDevice : kNoDevice;
  }
  gpu::Device& device = *choice->device;
  absl::StatusOr<std::unique_ptr<gpu::MemoryDriver>> driver =
      device.kind() == fabric::MemoryKind::kCuda ? gpu::OpenCudaDriver(device.ordinal())
                                                 : gpu::OpenHostDriver();
  if (!driver.ok()) {
    said = std::string(driver.status().message());
    return kNoDevice;
  }
  KindGpu gpu{**driver, device};
  (*driver)->SetCurrent(gpu::MemoryDriver::Context::kPrimary);
  const absl::StatusOr<std::string> verdict = one.run(gpu);
  said = verdict.ok() ? *verdict : std::string(verdict.status().message());
  // What the case left is not tidied up: the process ends at this point.
  return kSaid;
}

struct Process {
  pid_t pid = -1;
  int out = -1;
};

absl::StatusOr<Process> Start(const std::string& device, const KindCase& one) {
  int ends[2];
  if (pipe(ends) != 0) return absl::InternalError(absl::StrCat("pipe: ", std::strerror(errno)));
  const pid_t pid = fork();
  if (pid < 0) return absl::InternalError(absl::StrCat("fork: ", std::strerror(errno)));
  if (pid == 0) {
    std::string said;
    const Exit exit = RunHere(device, one, said);
    const ssize_t written = write(ends[1], said.data(), said.size());
    _exit(written == static_cast<ssize_t>(said.size()) ? exit : 1);
  }
  close(ends[1]);
  return Process{pid, ends[0]};
}

// All that comes until the end, or until `deadline`.
std::string ReadAll(int fd, std::chrono::steady_clock::time_point deadline) {
  std::string text;
  std::array<char, 512> piece{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waited{fd, POLLIN, 0};
    if (poll(&waited, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0) break;
    const ssize_t length = read(fd, piece.data(), piece.size());
    if (length <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(length));
  }
  return text;
}

absl::StatusOr<std::string> Finish(const Process& process,
                                   std::chrono::steady_clock::time_point deadline) {
  const std::string said = ReadAll(process.out, deadline);
  close(process.out);
  int status = 0;
  bool stopped = false;
  while (waitpid(process.pid, &status, stopped ? 0 : WNOHANG) == 0) {
    stopped = std::chrono::steady_clock::now() >= deadline;
    if (stopped) {
      kill(process.pid, SIGKILL);
    } else {
      poll(nullptr, 0, /*timeout=*/1);
    }
  }
  if (stopped) return absl::StrCat("no answer in ", kPatience.count(), " s");
  if (WIFSIGNALED(status)) return absl::StrCat("ended by signal ", WTERMSIG(status));
  if (WEXITSTATUS(status) == kNoSuchDevice) return absl::InvalidArgumentError(said);
  if (WEXITSTATUS(status) == kNoDevice) return absl::NotFoundError(said);
  if (WEXITSTATUS(status) != kSaid) return absl::StrCat("ended with ", WEXITSTATUS(status));
  return said;
}

}  // namespace

absl::StatusOr<Verdicts> RunKindCases(const std::string& device) {
  const std::vector<KindCase>& cases = KindCases();
  Verdicts verdicts;
  absl::Status failure;
  while (verdicts.size() < cases.size() && failure.ok()) {
    std::vector<Process> processes;
    const std::size_t end = std::min(verdicts.size() + kAtOnce, cases.size());
    for (std::size_t i = verdicts.size(); i < end && failure.ok(); ++i) {
      const absl::StatusOr<Process> started = Start(device, cases[i]);
      failure.Update(started.status());
      if (started.ok()) processes.push_back(*started);
    }
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (const Process& process : processes) {
      absl::StatusOr<std::string> verdict = Finish(process, deadline);
      failure.Update(verdict.status());
      verdicts.push_back(verdict.ok() ? *std::move(verdict) : "");
    }
  }
  if (!failure.ok()) return failure;
  return verdicts;
}

}  // namespace drydock::apps::dmabuf
