#include "drydock/apps/efa_run/many_seeds.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/efa_run/capsules.h"
#include "drydock/apps/efa_run/recorded_run.h"
#include "drydock/apps/efa_run/say.h"
#include "drydock/apps/efa_run/start.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/traced_run.h"
#include "drydock/sim/verbs/seed_runs.h"
#include "drydock/sim/verbs/settings.h"

namespace drydock::apps {
namespace {

using sim::verbs::EndedRun;
using sim::verbs::Process;

// Says of many runs what came of them, while they go on.
class SeedReport {
 public:
  explicit SeedReport(const Request& request) : request_(request) {}

  // Whether more runs are worth it.
  bool Add(const EndedRun& run) {
    ++runs_;
    if (run.status != 0) Failed(run);
    const auto now = std::chrono::steady_clock::now();
    if (is_watched_ && now - said_ > std::chrono::seconds(1)) {
      said_ = now;
      std::fprintf(stderr, "\r%s, %zu failed ", FormatCount(runs_, "seed").c_str(), failed_.size());
    }
    return was_run_;
  }
  // A line between them.
  void Add(const std::string& line) {
    EndLine();
    Say(line);
  }
  // Returns the exit status of all.
  int End() {
    EndLine();
    if (!was_run_) return 2;
    std::sort(failed_.begin(), failed_.end());
    constexpr std::size_t kNamed = 20;
    const std::size_t named = std::min(failed_.size(), kNamed);
    const std::string seeds =
        absl::StrJoin(failed_.begin(), failed_.begin() + static_cast<std::ptrdiff_t>(named), ", ");
    std::fprintf(stderr, "efa-run: %zu of %s failed%s%s%s\n", failed_.size(),
                 FormatCount(runs_, "seed").c_str(), named > 0 ? ": " : "", seeds.c_str(),
                 failed_.size() > named ? ", ..." : "");
    return failed_.empty() ? 0 : 1;
  }

 private:
  void EndLine() {
    if (is_watched_) std::fputs("\r\033[K", stderr);
  }
  // The output of the first failed run is printed: its reader need not wait for the others.
  void Failed(const EndedRun& run) {
    failed_.push_back(run.seed);
    if (!was_run_ || (failed_.size() > 1 && run.was_run)) return;
    EndLine();
    std::fwrite(run.output.data(), 1, run.output.size(), stderr);
    if (!run.output.empty() && run.output.back() != '\n') std::fputc('\n', stderr);
    was_run_ = run.was_run;
    if (!run.was_run) return;
    const std::string how =
        run.in_time ? absl::StrCat("exit status ", run.status)
                    : absl::StrCat("not over after ", request_.patience.count(), " s (--patience)");
    std::fprintf(stderr, "efa-run: seed %llu: %s; again: %s\n",
                 static_cast<unsigned long long>(run.seed), how.c_str(),
                 CommandFor(request_, run.seed).c_str());
  }

  const Request& request_;
  const bool is_watched_ = isatty(STDERR_FILENO) != 0;
  std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
  std::uint64_t runs_ = 0;
  std::vector<std::uint64_t> failed_;
  bool was_run_ = true;  // what cannot be run with one seed cannot with another
};

// Runs that leave a capsule where they fail as none has before.
class CapsuleKeeper {
 public:
  // Errors: as RunAllSeeds.
  static absl::StatusOr<std::unique_ptr<CapsuleKeeper>> Open(const Request& request) {
    ASSIGN_OR_RETURN(sim::explore::RunSpec spec, SpecOfRequest(request));
    RETURN_IF_ERROR(MakeFolder(request.capsules));
    return std::unique_ptr<CapsuleKeeper>(new CapsuleKeeper(request, std::move(spec)));
  }

  absl::StatusOr<Process> Begin(std::uint64_t seed) {
    sim::explore::RunSpec spec = spec_;
    spec.seed = seed;
    ASSIGN_OR_RETURN(auto run, RecordedRun::Prepare(spec));
    under_way_[seed] = run;
    return RecordedRun::ProcessOf(run, request_);
  }

  // Says of a new capsule where it is.
  absl::Status End(const EndedRun& ended, SeedReport& report) {
    const std::shared_ptr<RecordedRun> run = std::move(under_way_.extract(ended.seed).mapped());
    if (ended.status == 0 || !ended.was_run) return absl::OkStatus();
    const sim::explore::TracedRun traced = RecordedRun::ResultOf(run, ended);
    const std::string kind = KindOf(ended, traced.result);
    if (!kinds_.insert(kind).second) return absl::OkStatus();
    const std::string name = absl::StrCat(request_.capsules, "/", BaseName(request_.program[0]),
                                          "-", ended.seed, "-", kind);
    ASSIGN_OR_RETURN(const std::string path, WriteProgramCapsule(name, request_, *run, traced));
    report.Add(
        absl::StrCat("seed ", ended.seed, ": ", HowItEnded(traced.result), "; capsule ", path));
    return absl::OkStatus();
  }

 private:
  CapsuleKeeper(const Request& request, sim::explore::RunSpec spec)
      : request_(request), spec_(std::move(spec)) {}

  const Request& request_;
  const sim::explore::RunSpec spec_;  // of all, but for the seed
  std::map<std::uint64_t, std::shared_ptr<RecordedRun>> under_way_;
  std::set<std::string> kinds_;
};

// A run that is not kept needs no record.
Process PlainRun(const Request& request, std::uint64_t seed) {
  return [&request, seed] {
    Request own = request;
    own.settings.seed = seed;
    setenv(sim::verbs::kSeedVariable, absl::StrCat(seed).c_str(), 1);
    Say(Start(own).message());
    return 2;
  };
}

}  // namespace

absl::StatusOr<int> RunAllSeeds(const Request& request) {
  SeedReport report(request);
  std::unique_ptr<CapsuleKeeper> keeper;
  if (!request.capsules.empty()) {
    ASSIGN_OR_RETURN(keeper, CapsuleKeeper::Open(request));
  }
  absl::Status kept;
  const auto begin = [&](std::uint64_t seed) -> absl::StatusOr<Process> {
    if (keeper != nullptr) return keeper->Begin(seed);
    return PlainRun(request, seed);
  };
  const auto ended = [&](const EndedRun& run) {
    const bool goes_on = report.Add(run);
    if (keeper != nullptr) kept.Update(keeper->End(run, report));
    return goes_on && kept.ok();
  };
  RETURN_IF_ERROR(sim::verbs::RunSeeds(*request.seeds, request.patience, begin, ended));
  RETURN_IF_ERROR(kept);
  return report.End();
}

}  // namespace drydock::apps
