#include "sim/verbs/seed_runs.h"

#include <sys/prctl.h>
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
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace sim::verbs {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

struct Run {
  std::uint64_t seed = 0;
  File output;
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

// Returns the process's number.
absl::StatusOr<pid_t> Begin(std::FILE* output, std::uint64_t seed,
                            const std::function<int(std::uint64_t)>& become) {
  if (output == nullptr) return Failure("a file for the output of a run");
  std::fflush(nullptr);  // or the child says it again
  const pid_t child = fork();
  if (child < 0) return Failure("fork");
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left who would read what it says
  dup2(fileno(output), STDOUT_FILENO);
  dup2(fileno(output), STDERR_FILENO);
  const int status = become(seed);
  std::fflush(nullptr);
  _exit(status);
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

absl::StatusOr<SeedRuns> RunSeeds(const SeedRange& seeds,
                                  const std::function<int(std::uint64_t seed)>& become,
                                  const std::function<bool(const SeedRuns& so_far)>& ended) {
  const std::size_t most = std::max(std::thread::hardware_concurrency(), 1u);
  std::map<pid_t, Run> under_way;
  SeedRuns result;
  std::uint64_t begun = 0;
  bool goes_on = true;
  const auto more = [&] { return goes_on && begun <= seeds.last - seeds.first; };
  while (more() || !under_way.empty()) {
    while (more() && under_way.size() < most) {
      Run run{.seed = seeds.first + begun, .output = File(std::tmpfile())};
      const absl::StatusOr<pid_t> child = Begin(run.output.get(), run.seed, become);
      if (!child.ok() && under_way.empty()) return child.status();
      if (!child.ok()) break;  // when one has ended, there may be room
      ++begun;
      under_way.emplace(*child, std::move(run));
    }
    int how = 0;
    const pid_t child = wait(&how);
    if (child < 0) return Failure("wait");
    auto node = under_way.extract(child);
    if (node.empty()) continue;
    const int status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    const Run& run = node.mapped();
    ++result.runs;
    if (status != 0) {
      const auto place =
          std::find_if(result.failed.begin(), result.failed.end(),
                       [&](const FailedRun& other) { return other.seed > run.seed; });
      result.failed.insert(place, {run.seed, status, ReadAll(run.output.get())});
    }
    goes_on = ended(result) && goes_on;
  }
  return result;
}

std::string AsShellWords(const std::vector<std::string>& words) {
  static constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  return absl::StrJoin(words, " ", [](std::string* out, const std::string& word) {
    const bool plain = !word.empty() && word.find_first_not_of(kPlain) == word.npos;
    absl::StrAppend(
        out, plain ? word : absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'"));
  });
}

}  // namespace sim::verbs
