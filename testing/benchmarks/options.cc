#include "drydock/testing/benchmarks/options.h"

#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/progress.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/svg_flag.h"
#include "drydock/coro/steady_clock.h"

ABSL_FLAG(bool, check, false, "Exit with 1 when a goal is missed.");
ABSL_FLAG(bool, smoke, false,
          "Run everything once, as briefly as it goes: shows that it works, measures nothing.");
ABSL_FLAG(std::uint64_t, rounds, 0,
          "Interleaved rounds, each with one sample of everything; 0 means the benchmark's own.");

namespace drydock::bench {
namespace {

constexpr std::uint64_t kMostRounds = 100000;

absl::StatusOr<Options> OptionsFromFlags(std::size_t rounds) {
  Options options;
  options.smoke = absl::GetFlag(FLAGS_smoke);
  options.paired.rounds = rounds;
  if (absl::GetFlag(FLAGS_rounds) > kMostRounds) {
    return absl::InvalidArgumentError(
        absl::StrCat("--rounds=", absl::GetFlag(FLAGS_rounds), " is over ", kMostRounds));
  }
  if (absl::GetFlag(FLAGS_rounds) > 0) options.paired.rounds = absl::GetFlag(FLAGS_rounds);
  if (options.smoke) {
    options.paired.rounds = 1;
    options.paired.slice = coro::Duration::zero();
  }
  return options;
}

// As Linux names it: processors differ by more than a goal's margin.
std::string Processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string Rendered(const Report& report, apps::OutputForm form) {
  if (form == apps::OutputForm::kJson) return report.ToJson();
  return form == apps::OutputForm::kCsv ? report.ToCsv() : report.ToText();
}

}  // namespace

int RunMain(int argc, char** argv, const std::string& name, const std::string& what,
            std::size_t rounds, const std::function<std::size_t(const Options&)>& ticks,
            const Benchmark& benchmark) {
  const apps::Usage usage{
      name, what, "[--json|--csv] [--svg=FILE] [--check] [--rounds=N] [--smoke]",
      absl::StrCat("  ./bazelw run --config=opt //testing/benchmarks:", name,
                   "\n\nExit status: 0 it ran, 1 it failed or --check found a goal missed, 2 bad "
                   "input.")};
  const auto positional = apps::ParseCommandLineOrExit(argc, argv, usage);
  if (!positional.empty()) {
    return apps::ReportError(
        name, absl::InvalidArgumentError(absl::StrCat("too many arguments: ", positional.front())));
  }
  const absl::StatusOr<Options> options = OptionsFromFlags(rounds);
  if (!options.ok()) return apps::ReportError(name, options.status());
  const absl::StatusOr<apps::OutputForm> form = apps::OutputFormFromFlags();
  if (!form.ok()) return apps::ReportError(name, form.status());

  const coro::SteadyClock clock;
  apps::Progress progress({.what = "samples", .total = ticks(*options)}, clock);
  std::uint64_t done = 0;
  absl::StatusOr<Report> report =
      benchmark(*options, [&progress, &done] { progress.Update(++done); });
  progress.Hide();
  if (!report.ok()) return apps::ReportError(name, report.status());
  report->AddNote(absl::StrCat("Processor: ", Processor(), "; ",
                               std::thread::hardware_concurrency(), " threads of it."));
  const absl::Status drawn = apps::DrawIfAsked([&report] { return report->ToSvg(); });
  if (!drawn.ok()) return apps::ReportError(name, drawn);
  std::cout << Rendered(*report, *form) << std::flush;
  const bool missed = absl::GetFlag(FLAGS_check) && !report->GoalsHold();
  return missed ? apps::kExitFailed : apps::kExitOk;
}

}  // namespace drydock::bench
