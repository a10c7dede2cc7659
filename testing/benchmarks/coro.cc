// What coroutines on our loop cost, as multiples of what bare coroutines cost in the same run. See
// docs/performance.md.

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/coro/status_macros.h"
#include "drydock/testing/benchmarks/allocation_counter.h"
#include "drydock/testing/benchmarks/coro_cases.h"
#include "drydock/testing/benchmarks/coro_limits.h"
#include "drydock/testing/benchmarks/options.h"
#include "drydock/testing/benchmarks/paired.h"
#include "drydock/testing/benchmarks/report.h"
#include "drydock/testing/benchmarks/statistics.h"
#ifdef DRYDOCK_HAVE_ASIO
#include "drydock/testing/benchmarks/asio_cases.h"
#endif

namespace drydock::bench {
namespace {

constexpr std::size_t kRounds = 31;

// One line of the table: a case, perhaps less another one, held to a multiple of a limit or to
// nanoseconds.
struct Row {
  const char* name;             // null: the case's own
  const char* measured;         // a case
  const char* less = nullptr;   // a case whose cost is subtracted
  double parts = 1;             // and the difference divided by this
  const char* limit = nullptr;  // a limit
  std::optional<double> most_ratio;
  std::optional<double> most_nanoseconds;
  // From the heap, per operation, once warm.
  std::optional<double> most_allocations;
  std::optional<double> most_bytes;
  const char* ours = nullptr;  // asio's rows: our case that does the same
};

// Less than one in a hundred operations: what a run starts with is not steady state.
constexpr double kNone = 0.01;

const std::array kRows = {
    Row{.name = nullptr,
        .measured = kTask,
        .limit = kLimitM,
        .most_ratio = 0.75,
        .most_allocations = kNone},
    Row{.name = nullptr,
        .measured = kSwitchVirtual,
        .limit = kLimitR,
        .most_ratio = 2,
        .most_allocations = kNone},
    Row{.name = nullptr, .measured = kSwitchSteady, .limit = kLimitR, .most_allocations = kNone},
    Row{.name = nullptr, .measured = kWake, .limit = kLimitR},
    Row{.name = nullptr,
        .measured = kCompletion,
        .limit = kLimitP,
        .most_ratio = 2,
        .most_allocations = kNone},
    Row{.name = nullptr,
        .measured = kDeadline,
        .limit = kLimitP,
        .most_ratio = 3.5,
        .most_allocations = kNone},
    Row{.name = nullptr, .measured = kFabric, .limit = kLimitP, .most_allocations = kNone},
    Row{.name = nullptr, .measured = kFabricDeadline, .limit = kLimitP, .most_allocations = kNone},
    Row{.name = "each extra NowTask on an operation",
        .measured = kFiveCalls,
        .less = kOneCall,
        .parts = 4,
        .limit = kLimitP,
        .most_ratio = 2,
        .most_allocations = kNone},
    Row{.name = "each extra Task, which could be moved",
        .measured = kFiveTasks,
        .less = kOneTask,
        .parts = 4,
        .limit = kLimitP,
        .most_allocations = kNone},
    Row{.name = nullptr,
        .measured = kGather,
        .limit = kLimitR,
        .most_nanoseconds = 16,
        .most_allocations = kNone,
        .most_bytes = 16},
    Row{.name = nullptr,
        .measured = kSleeps,
        .limit = kLimitQ,
        .most_ratio = 0.75,
        .most_allocations = kNone},
    Row{.name = "empty turn of the loop, over the poll",
        .measured = kEmptyTurn,
        .less = kEmptyPoll,
        .limit = kLimitR,
        .most_nanoseconds = 5,
        .most_allocations = kNone},
    Row{.name = nullptr, .measured = kError, .limit = kLimitM, .most_nanoseconds = 80},
};

#ifdef DRYDOCK_HAVE_ASIO
const std::array kAsioRows = {
    Row{.name = nullptr, .measured = kAsioTask, .limit = kLimitM, .ours = kTask},
    Row{.name = nullptr, .measured = kAsioSwitch, .limit = kLimitR, .ours = kSwitchSteady},
    Row{.name = nullptr, .measured = kAsioCompletion, .limit = kLimitP, .ours = kCompletion},
    Row{.name = nullptr, .measured = kAsioDeadline, .limit = kLimitP, .ours = kDeadline},
    Row{.name = nullptr, .measured = kAsioEither, .limit = kLimitP, .ours = kDeadline},
    Row{.name = "asio: each extra task on an operation",
        .measured = kAsioFiveLayers,
        .less = kAsioOneLayer,
        .parts = 4,
        .limit = kLimitP,
        .ours = kFiveCalls},
    Row{.name = nullptr, .measured = kAsioGather, .limit = kLimitR, .ours = kGather},
    Row{.name = nullptr, .measured = kAsioSleeps, .limit = kLimitQ, .ours = kSleeps},
    Row{.name = "asio: empty turn of the loop, over the poll",
        .measured = kAsioEmptyTurn,
        .less = kEmptyPoll,
        .limit = kLimitR,
        .ours = kEmptyTurn},
    Row{.name = nullptr, .measured = kAsioValue, .limit = kLimitM, .ours = kError},
    Row{.name = nullptr, .measured = kAsioException, .limit = kLimitM, .ours = kError},
};
constexpr char kAsioNote[] =
    "asio: its own coroutines, asio::awaitable, on one thread; \"of ours\" is the same case on our "
    "loop. asio's sleeps pass in real time, ours in virtual time.";
absl::Status VerifyAsio() { return VerifyAsioCases(); }
std::vector<Case> AsioCases() { return MakeAsioCases(); }
#else
const std::array<Row, 0> kAsioRows = {};
constexpr char kAsioNote[] =
    "asio's rows are absent: they need asio (./bazelw --install libasio-dev) and --config=opt.";
absl::Status VerifyAsio() { return absl::OkStatus(); }
std::vector<Case> AsioCases() { return {}; }
#endif

// Limits, our cases, and asio's where there are any.
std::vector<Case> AllCases() {
  std::vector<Case> cases = MakeLimits();
  for (Case& ours : MakeCoroCases()) cases.push_back(std::move(ours));
  for (Case& theirs : AsioCases()) cases.push_back(std::move(theirs));
  return cases;
}

using Samples = std::vector<double>;

struct Figures {
  std::map<std::string, Samples> nanoseconds;
  std::map<std::string, std::pair<double, double>> heap;  // allocations and bytes per operation
};

// What each case takes from the heap, once it has run before.
absl::Status CountAllocations(const std::vector<Case>& cases, Figures& figures) {
  constexpr std::uint64_t kOperations = 20000;
  for (const Case& measured : cases) {
    const std::uint64_t operations =
        (kOperations + measured.granule - 1) / measured.granule * measured.granule;
    RETURN_IF_ERROR(measured.run(operations));
    const Allocations before = AllocationsSoFar();
    RETURN_IF_ERROR(measured.run(operations));
    const Allocations after = AllocationsSoFar();
    const auto per_operation = [operations](std::uint64_t total) {
      return static_cast<double>(total) / static_cast<double>(operations);
    };
    figures.heap[measured.name] = {per_operation(after.count - before.count),
                                   per_operation(after.bytes - before.bytes)};
  }
  return absl::OkStatus();
}

// The samples of a row: of its case, less those of the other case in the same round.
Samples SamplesOf(const Row& row, const Figures& figures) {
  Samples samples = figures.nanoseconds.at(row.measured);
  if (row.less == nullptr) return samples;
  const Samples& less = figures.nanoseconds.at(row.less);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = (samples[i] - less[i]) / row.parts;
  }
  return samples;
}

std::pair<double, double> HeapOf(const Row& row, const Figures& figures) {
  std::pair<double, double> heap = figures.heap.at(row.measured);
  if (row.less == nullptr) return heap;
  const std::pair<double, double>& less = figures.heap.at(row.less);
  return {(heap.first - less.first) / row.parts, (heap.second - less.second) / row.parts};
}

std::vector<Goal> GoalsOf(const Row& row, const std::string& name, double nanoseconds,
                          const Ratio& ratio, const std::pair<double, double>& heap) {
  std::vector<Goal> goals;
  if (row.most_ratio) {
    goals.push_back(
        AtMost(absl::StrCat(name, ": times ", row.limit), ratio.median, *row.most_ratio));
  }
  if (row.most_nanoseconds) {
    goals.push_back(AtMost(absl::StrCat(name, ": ns"), nanoseconds, *row.most_nanoseconds, 1));
  }
  if (row.most_allocations) {
    goals.push_back(AtMost(absl::StrCat(name, ": allocations"), heap.first, *row.most_allocations));
  }
  if (row.most_bytes) {
    goals.push_back(AtMost(absl::StrCat(name, ": bytes"), heap.second, *row.most_bytes, 1));
  }
  return goals;
}

std::string GateOf(const Row& row) {
  if (row.most_ratio) return absl::StrCat(*row.most_ratio, " ", row.limit);
  if (row.most_nanoseconds) return absl::StrCat(*row.most_nanoseconds, " ns");
  return "-";
}

// "pass", or what fails: "FAIL: times P, allocations"; "-" where nothing was promised.
std::string ResultOf(const std::vector<Goal>& goals) {
  if (goals.empty()) return "-";
  std::string failed;
  for (const Goal& goal : goals) {
    if (goal.state == Goal::State::kMet) continue;
    absl::StrAppend(&failed, failed.empty() ? "" : ", ",
                    goal.name.substr(goal.name.rfind(": ") + 2));
  }
  return failed.empty() ? "pass" : absl::StrCat("FAIL: ", failed);
}

// "3.1 of ours": what asio's row is beside our row of the same case.
std::string BesideOurs(const Row& row, const Samples& samples, const Figures& figures) {
  const auto ours = std::find_if(kRows.begin(), kRows.end(), [&row](const Row& one) {
    return one.measured == std::string_view(row.ours);
  });
  const Samples our_samples = SamplesOf(*ours, figures);
  // A difference of two cases may be nothing when each ran only for an instant.
  for (const double sample : our_samples) {
    if (sample <= 0) return "-";
  }
  return absl::StrFormat("%.1f of ours", Compare(samples, our_samples).median);
}

void AddRow(const Row& row, const Figures& figures, Report& report) {
  const std::string name = row.name == nullptr ? row.measured : row.name;
  const Samples samples = SamplesOf(row, figures);
  const Samples& limit = figures.nanoseconds.at(row.limit);
  const double median = Summarize(samples).median;
  const Ratio ratio = Compare(samples, limit);
  const std::pair<double, double> heap = HeapOf(row, figures);
  const std::vector<Goal> goals = GoalsOf(row, name, median, ratio, heap);
  report.AddRow({Text(name), Number(median, 1), Text(row.limit), Number(Summarize(limit).median, 1),
                 Number(ratio.median, 2), Number(ratio.lower_quartile, 2),
                 Number(ratio.upper_quartile, 2), Text(GateOf(row)), Number(heap.first, 2),
                 Number(heap.second, 1),
                 Text(row.ours == nullptr ? ResultOf(goals) : BesideOurs(row, samples, figures))});
  for (const Goal& goal : goals) report.AddGoal(goal);
}

absl::StatusOr<Report> Run(const Options& options, const std::function<void()>& tick) {
  RETURN_IF_ERROR(VerifyCoroCases());
  RETURN_IF_ERROR(VerifyAsio());
  const std::vector<Case> cases = AllCases();
  Figures figures;
  RETURN_IF_ERROR(CountAllocations(cases, figures));
  ASSIGN_OR_RETURN(auto series, MeasurePaired(cases, options.paired, ProcessorClock(), tick));
  for (Series& one : series) figures.nanoseconds[one.name] = std::move(one.nanoseconds);
  Report report("coro", {"what", "ns", "limit", "limit ns", "ratio", "quartile 1", "quartile 3",
                         "gate", "allocations", "bytes", "result"});
  for (const Row& row : kRows) AddRow(row, figures, report);
  for (const Row& row : kAsioRows) AddRow(row, figures, report);
  report.AddNote(
      "Limits, with no library around them: R resumes a coroutine that suspends again; M creates, "
      "resumes and destroys a coroutine; P posts, polls a ring and resumes, 64 in flight; Q pushes "
      "and pops 10000 through std::priority_queue. Operations complete at once in a ring in "
      "memory; \"all of fabric/async\" is with the contract between it and the loop. allocations "
      "and bytes: from the heap, per operation, once warm.");
  report.AddNote(kAsioNote);
  return report;
}

}  // namespace
}  // namespace drydock::bench

int main(int argc, char** argv) {
  return drydock::bench::RunMain(
      argc, argv, "coro",
      "what tasks, switches, timers and completions cost on our loop, as multiples of bare "
      "coroutines.",
      drydock::bench::kRounds,
      [](const drydock::bench::Options& options) {
        return options.paired.rounds * drydock::bench::AllCases().size();
      },
      drydock::bench::Run);
}
