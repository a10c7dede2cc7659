// The whatif program: see README.md in this folder.

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/progress.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/svg_flag.h"
#include "drydock/apps/whatif/cliff_report.h"
#include "drydock/apps/whatif/confirm.h"
#include "drydock/apps/whatif/question.h"
#include "drydock/apps/whatif/report.h"
#include "drydock/apps/whatif/search.h"
#include "drydock/apps/whatif/space.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"

ABSL_FLAG(bool, steps, false, "What was published of this machine, beside what is predicted.");
ABSL_FLAG(bool, search, false,
          "Cliffs around the workload: what makes it far slower than its neighbours.");
ABSL_FLAG(std::vector<std::string>, vary, {},
          "With --search, what may be different: page,window,route. Without it: everything.");
ABSL_FLAG(std::uint64_t, seed, 1, "With --search: its seed; the same seed has the same report.");
ABSL_FLAG(std::uint64_t, budget, 40'000, "With --search: number of workloads that it predicts.");
ABSL_FLAG(double, depth, 0.25,
          "With --search: a rate is a cliff that is so much less than a neighbour's; 0 to 1.");
ABSL_FLAG(double, times, 3,
          "With --search: a latency is a cliff that is so many times a neighbour's; above 1.");
ABSL_FLAG(bool, confirm, true, "With --search: each cliff is played on the simulator as well.");

namespace drydock::apps::whatif {
namespace {

const Usage kUsage = {
    .name = "whatif",
    .summary = "predicts how fast a workload is on EFA machines, and what limits it.",
    .synopsis =
        "[--profile=NAME] [--size=N] [--window=N] [--nics=N] [--threads=N] [--policy=NAME] ...\n"
        "[...] --sweep=size|nics|threads|window [--json|--csv] [--svg=FILE]\n"
        "[--profile=NAME] --steps [--json|--csv] [--svg=FILE]\n"
        "[...] --search [--seed=N] [--budget=N] [--depth=X] [--vary=NAME,...] [--noconfirm] ...",
    .examples =
        "  whatif                                     all NICs of a p5.48xlarge, pages of 64 KiB\n"
        "  whatif --nics=1 --size=4KiB --window=8     is one NIC fast enough with 8 under way?\n"
        "  whatif --sweep=window --nics=1             from which window on is it?\n"
        "  whatif --threads=1 --burst=1               what one thread gets out of all of them\n"
        "  whatif --profile=p5en --sweep=size --svg=sizes.svg\n"
        "  whatif --steps                             how right all of this is\n"
        "  whatif --search                            what makes all of this far slower\n"
        "\nExit status: 0 predicted, 1 it failed, 2 bad input.",
};

// Prints it, and draws it. Returns the exit status.
template <typename What>
absl::StatusOr<int> Deliver(const What& what) {
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  std::cout << Render(what, form);
  RETURN_IF_ERROR(DrawIfAsked([&what] { return ToSvg(what); }));
  return kExitOk;
}

absl::StatusOr<SearchOptions> SearchOptionsFromFlags() {
  SearchOptions options{.seed = absl::GetFlag(FLAGS_seed),
                        .budget = absl::GetFlag(FLAGS_budget),
                        .depth = absl::GetFlag(FLAGS_depth),
                        .times = absl::GetFlag(FLAGS_times)};
  if (!(options.depth > 0 && options.depth < 1)) {
    return absl::InvalidArgumentError("--depth is between 0 and 1");
  }
  if (!(options.times > 1 && options.times <= 1e6)) {
    return absl::InvalidArgumentError("--times is above 1, and at most a million");
  }
  if (options.budget == 0) return absl::InvalidArgumentError("--budget is 1 or more");
  return options;
}

absl::StatusOr<Space> SpaceFromFlags(const Question& question) {
  Space space = Space::Around(*question.profile, question.workloads.front());
  const std::vector<std::string> names = absl::GetFlag(FLAGS_vary);
  if (names.empty()) return space;
  absl::StatusOr<Space> varying = space.Varying(names);
  if (varying.ok()) return varying;
  return absl::InvalidArgumentError(absl::StrCat("--vary: ", varying.status().message()));
}

absl::StatusOr<Found> Searched(const Space& space, SearchOptions options) {
  const coro::SteadyClock clock;
  Progress progress({.what = "workloads", .total = options.budget, .rate = true}, clock);
  options.progress = [&progress](std::uint64_t predicted) { progress.Update(predicted); };
  return Search(space, std::move(options)).Run();
}

absl::StatusOr<std::vector<Confirmation>> Confirmed(const CliffReport& report,
                                                    const SearchOptions& options) {
  const coro::SteadyClock clock;
  Progress progress({.what = "cliffs on the simulator", .total = report.found.cliffs.size()},
                    clock);
  Confirmer confirmer(report.space, options);
  std::vector<Confirmation> confirmations;
  for (const Cliff& cliff : report.found.cliffs) {
    progress.Update(confirmations.size());
    ASSIGN_OR_RETURN(confirmations.emplace_back(), confirmer.Confirm(cliff));
  }
  return confirmations;
}

absl::StatusOr<int> SearchCliffs(const Question& question) {
  ASSIGN_OR_RETURN(const SearchOptions options, SearchOptionsFromFlags());
  ASSIGN_OR_RETURN(Space space, SpaceFromFlags(question));
  CliffReport report{.space = std::move(space),
                     .plain = Describe(question),
                     .seed = options.seed,
                     .depth = options.depth,
                     .times = options.times};
  ASSIGN_OR_RETURN(report.found, Searched(report.space, options));
  if (absl::GetFlag(FLAGS_confirm)) {
    ASSIGN_OR_RETURN(report.confirmations, Confirmed(report, options));
  }
  return Deliver(report);
}

absl::StatusOr<int> Run(const std::vector<std::string>& positional) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument: ", positional.front(), " (--help shows the flags)"));
  }
  RETURN_IF_ERROR(OutputFormFromFlags().status());
  RETURN_IF_ERROR(CheckSvg());
  ASSIGN_OR_RETURN(Question question, QuestionFromFlags());
  if (absl::GetFlag(FLAGS_search)) {
    if (question.sweep != Sweep::kNone || absl::GetFlag(FLAGS_steps)) {
      return absl::InvalidArgumentError("choose one: --search, --steps or --sweep");
    }
    return SearchCliffs(question);
  }
  RETURN_IF_ERROR(RefuseFlags({"vary", "seed", "budget", "depth", "times", "confirm"},
                              "goes with --search only"));
  if (absl::GetFlag(FLAGS_steps)) {
    if (question.sweep != Sweep::kNone) {
      return absl::InvalidArgumentError("choose one: --steps or --sweep");
    }
    // The workloads are the published ones.
    RETURN_IF_ERROR(AcceptFlags("--steps", {"steps", "profile", "json", "csv", "svg"}));
    ASSIGN_OR_RETURN(const Comparison comparison, Compare(*question.profile));
    return Deliver(comparison);
  }
  const auto& load = question.workloads.front();
  if (!load.warm && load.operations == 0) {
    return absl::InvalidArgumentError("--nowarm is for a run that ends: with --pages");
  }
  ASSIGN_OR_RETURN(const Answer answer, Predict(std::move(question)));
  return Deliver(answer);
}

}  // namespace
}  // namespace drydock::apps::whatif

int main(int argc, char** argv) {
  using namespace drydock::apps;  // NOLINT(build/namespaces)
  return EndWith(whatif::kUsage.name,
                 whatif::Run(ParseCommandLineOrExit(argc, argv, whatif::kUsage)));
}
