// How fast the simulator is, beside what else moves bytes between two endpoints of one process.
// See docs/performance.md.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/testing/benchmarks/bare_paths.h"
#include "drydock/testing/benchmarks/options.h"
#include "drydock/testing/benchmarks/paired.h"
#include "drydock/testing/benchmarks/report.h"
#include "drydock/testing/benchmarks/sim_paths.h"
#include "drydock/testing/benchmarks/statistics.h"
#include "drydock/testing/benchmarks/write_path.h"

#ifdef DRYDOCK_HAVE_LIBFABRIC
#include "drydock/testing/benchmarks/libfabric_paths.h"
#endif

namespace drydock::bench {
namespace {

constexpr std::array<std::size_t, 4> kSizes = {64, 4096, 65536, 1u << 20};
constexpr std::array<std::size_t, 2> kWindows = {1, 16};
constexpr std::size_t kRounds = 15;
#ifdef DRYDOCK_HAVE_LIBFABRIC
constexpr bool kHaveLibfabric = true;
#else
constexpr bool kHaveLibfabric = false;
#endif

// What a row is, for the goals.
enum class Role { kFloor, kMemcpy, kShm, kProvider, kVirtualTime, kLive };

struct Row {
  Role role;
  std::unique_ptr<WritePath> path;
};

struct Rows {
  std::vector<Row> rows;
  std::vector<std::string> left_out;  // and why
};

// ---- Rows: add one here ----

using OpenPath = std::function<absl::StatusOr<std::unique_ptr<WritePath>>(const Buffers&)>;

// A path that cannot be opened here is left out, and said to be.
void Add(Rows& rows, Role role, const std::string& name, const Buffers& buffers,
         const OpenPath& open) {
  absl::StatusOr<std::unique_ptr<WritePath>> path = open(buffers);
  if (path.ok()) {
    rows.rows.push_back({role, *std::move(path)});
  } else {
    rows.left_out.push_back(absl::StrCat("left out: ", name, ": ", path.status().message()));
  }
}

void AddProviders(Rows& rows, const Buffers& buffers) {
#ifdef DRYDOCK_HAVE_LIBFABRIC
  for (const std::string provider : {"shm", "tcp"}) {
    const Role role = provider == "shm" ? Role::kShm : Role::kProvider;
    Add(rows, role, provider, buffers,
        [&](const Buffers& shared) { return OpenRawLibfabricPath(provider, shared); });
    Add(rows, role, provider, buffers,
        [&](const Buffers& shared) { return OpenLibfabricBackendPath(provider, shared); });
  }
#else
  static_cast<void>(buffers);
  rows.left_out.push_back("left out: shm and tcp: built without libfabric");
#endif
}

Rows OpenRows(const Buffers& buffers) {
  Rows rows;
  rows.rows.push_back({Role::kFloor, MakeFloorPath(buffers)});
  rows.rows.push_back({Role::kMemcpy, MakeMemcpyPath(buffers)});
  AddProviders(rows, buffers);
  Add(rows, Role::kVirtualTime, "sim, virtual time", buffers, OpenVirtualTimePath);
  Add(rows, Role::kLive, "sim, real time", buffers, OpenLivePath);
  return rows;
}

// ---- Figures of one shape ----

struct Measured {
  Shape shape;
  std::vector<Role> roles;
  std::vector<Series> series;

  double Median(std::size_t row) const { return Summarize(series[row].nanoseconds).median; }

  // The fastest row of a role; nothing where there is none.
  std::optional<std::size_t> Best(Role role) const {
    std::optional<std::size_t> best;
    for (std::size_t row = 0; row < roles.size(); ++row) {
      if (roles[row] == role && (!best || Median(row) < Median(*best))) best = row;
    }
    return best;
  }

  // What one row costs in terms of another; nothing where there is no other.
  std::optional<double> Divide(std::optional<std::size_t> row,
                               std::optional<std::size_t> other) const {
    if (!row || !other) return std::nullopt;
    return Compare(series[*row].nanoseconds, series[*other].nanoseconds).median;
  }
};

Cell RatioCell(std::optional<double> ratio) { return ratio ? Number(*ratio, 2) : Nothing(); }

// What a row of this role is held to in this shape.
std::vector<Goal> GoalsOf(Role role, const Measured& measured) {
  const Shape& shape = measured.shape;
  const std::optional<std::size_t> own = measured.Best(role);
  const auto name = [&](const char* column) {
    return absl::StrCat(role == Role::kLive ? "live" : "virtual time", ", ",
                        apps::FormatBytes(shape.bytes), ", window ", shape.window, ": ", column);
  };
  std::vector<Goal> goals;
  if (role == Role::kLive && shape.bytes == kSizes.front()) {
    goals.push_back(
        AtLeast(name("rate/shm"), measured.Divide(measured.Best(Role::kShm), own), 1.5));
    if (!kHaveLibfabric) goals.back().state = Goal::State::kSkipped;
    goals.push_back(
        AtMost(name("cost/floor"), measured.Divide(own, measured.Best(Role::kFloor)), 5));
  }
  if (role == Role::kLive && shape.bytes == kSizes.back()) {
    goals.push_back(
        AtLeast(name("rate/memcpy"), measured.Divide(measured.Best(Role::kMemcpy), own), 0.9));
  }
  if (role == Role::kVirtualTime && shape.bytes == kSizes.front()) {
    std::optional<double> rate;
    if (own) rate = 1e3 / measured.Median(*own);
    goals.push_back(AtLeast(name("Mop/s"), rate, 1));
  }
  return goals;
}

// "rate/shm pass, cost/floor FAIL".
Cell GoalCell(const std::vector<Goal>& goals) {
  if (goals.empty()) return Nothing();
  return Text(absl::StrJoin(goals, ", ", [](std::string* out, const Goal& goal) {
    const std::size_t column = goal.name.rfind(' ') + 1;
    absl::StrAppend(out, goal.name.substr(column), " ", Verdict(goal));
  }));
}

void AddRows(const Measured& measured, Report& report) {
  const double bytes = static_cast<double>(measured.shape.bytes);
  for (std::size_t row = 0; row < measured.series.size(); ++row) {
    const Summary summary = Summarize(measured.series[row].nanoseconds);
    const double own = summary.median;
    report.AddRow({Text(measured.series[row].name), Count(measured.shape.bytes),
                   Count(measured.shape.window), Number(own, 1), Number(summary.minimum, 1),
                   Number(1e3 / own, 3), Number(bytes / own, 2),
                   RatioCell(measured.Divide(row, measured.Best(Role::kFloor))),
                   RatioCell(measured.Divide(measured.Best(Role::kShm), row)),
                   RatioCell(measured.Divide(measured.Best(Role::kMemcpy), row)),
                   GoalCell(GoalsOf(measured.roles[row], measured))});
  }
  for (const Role role : {Role::kLive, Role::kVirtualTime}) {
    for (Goal& goal : GoalsOf(role, measured)) report.AddGoal(std::move(goal));
  }
}

absl::StatusOr<Measured> Measure(const Rows& rows, const Buffers& buffers, const Shape& shape,
                                 const Options& options, const std::function<void()>& tick) {
  std::vector<Case> cases;
  Measured measured{.shape = shape, .roles = {}, .series = {}};
  for (const Row& row : rows.rows) {
    WritePath& path = *row.path;
    RETURN_IF_ERROR(VerifyPath(path, buffers, shape));
    measured.roles.push_back(row.role);
    cases.push_back({path.name(), shape.window, [&path, shape](std::uint64_t operations) {
                       return path.Write(shape, operations);
                     }});
  }
  ASSIGN_OR_RETURN(measured.series, MeasurePaired(cases, options.paired, ProcessorClock(), tick));
  return measured;
}

absl::StatusOr<Report> Run(const Options& options, const std::function<void()>& tick) {
  Report report("sim_vs_providers", {"path", "bytes", "window", "ns/op", "min ns", "Mop/s", "GB/s",
                                     "cost/floor", "rate/shm", "rate/memcpy", "goals"});
  const Buffers buffers(kSizes.back() * kWindows.back());
  const Rows rows = OpenRows(buffers);
  for (const std::size_t bytes : kSizes) {
    for (const std::size_t window : kWindows) {
      ASSIGN_OR_RETURN(const Measured measured,
                       Measure(rows, buffers, {bytes, window}, options, tick));
      AddRows(measured, report);
    }
  }
  for (const std::string& note : rows.left_out) report.AddNote(note);
  report.AddNote(
      "A write with immediate, both completions read, one thread; medians of interleaved rounds. "
      "cost/floor: lower is better; rate/shm (the faster of its two rows) and rate/memcpy: higher "
      "is better.");
  return report;
}

}  // namespace
}  // namespace drydock::bench

int main(int argc, char** argv) {
  return drydock::bench::RunMain(
      argc, argv, "sim_vs_providers",
      "writes with immediate between two endpoints of one process: the simulator beside "
      "libfabric's "
      "software providers, a bare loop and memcpy.",
      drydock::bench::kRounds,
      [](const drydock::bench::Options& options) {
        constexpr std::size_t kRowsAbout = 8;
        return options.paired.rounds * drydock::bench::kSizes.size() *
               drydock::bench::kWindows.size() * kRowsAbout;
      },
      drydock::bench::Run);
}
