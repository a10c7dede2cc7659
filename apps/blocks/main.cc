// The blocks program: see README.md in this folder.

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/blocks/run.h"
#include "drydock/apps/blocks/settings.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/coro/status_macros.h"

ABSL_FLAG(std::string, profile, "small", "The simulated machines: small, p5, p5en, ...");
ABSL_FLAG(std::uint64_t, seed, 1, "Seed of everything random in the run.");
ABSL_FLAG(std::uint64_t, clients, 4, "Machines that read and write, 1 to 31.");
ABSL_FLAG(std::uint64_t, blocks, 64, "Blocks of 512 bytes, on both servers, 1 to 100000.");
ABSL_FLAG(
    std::uint64_t, rounds, 4,
    "How often every block is written, and read by every client, 1 to 1000. A run that takes more "
    "than 10 s of simulated time is ended.");
ABSL_FLAG(std::uint64_t, window, 8, "Calls of a client under way, 1 to 32.");
ABSL_FLAG(std::uint64_t, hedge_us, 80,
          "Microseconds after which a read that has no answer asks the other server as well, at "
          "most 1000000.");

namespace drydock::apps::blocks {
namespace {

const Usage kUsage = {
    .name = "blocks",
    .summary =
        "clients read and write the blocks of two servers that hold the "
        "same: by calls, with a "
        "barrier between rounds, and with a log that its reader slows "
        "down. Simulated.",
    .synopsis = "[--clients=N] [--blocks=N] [--rounds=N] [--window=N] [--hedge-us=N]",
    .examples =
        "  blocks                     4 clients, 64 blocks, 4 rounds\n"
        "  blocks --hedge-us=0        impatient: every read asks both servers\n"
        "  blocks --clients=31 --profile=p5 --json\n"
        "\nExit status: 0 every read was of the right version, 1 it was not, "
        "or the run failed, 2 "
        "bad input."};

ResultTable TableOf(const Settings& settings, const Report& report) {
  ResultTable table("blocks", Origin::kSimulated,
                    {{"clients"},
                     {"writes"},
                     {"reads"},
                     {"hedged"},
                     {"second won", "second_won"},
                     {"late answers", "late"},
                     {"records"},
                     {"wrong"},
                     {"time", "elapsed_ns", "ns"}});
  const Tally& total = report.total;
  table.AddRow({CountCell(settings.clients), CountCell(total.writes), CountCell(total.reads),
                CountCell(total.hedged), CountCell(total.second_won), CountCell(total.late),
                CountCell(report.records), CountCell(total.wrong), DurationCell(report.elapsed)});
  return table;
}

absl::StatusOr<int> Run(const std::vector<std::string>& positional) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("unexpected argument '", positional[0], "'"));
  }
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  Settings settings;
  settings.profile = absl::GetFlag(FLAGS_profile);
  settings.seed = absl::GetFlag(FLAGS_seed);
  settings.clients = absl::GetFlag(FLAGS_clients);
  settings.blocks = absl::GetFlag(FLAGS_blocks);
  settings.rounds = absl::GetFlag(FLAGS_rounds);
  settings.window = absl::GetFlag(FLAGS_window);
  const std::uint64_t hedge = absl::GetFlag(FLAGS_hedge_us);
  if (hedge > 1'000'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("--hedge-us=", hedge, " is more than 1000000, a second"));
  }
  settings.hedge = std::chrono::microseconds(hedge);
  ASSIGN_OR_RETURN(const Report report, RunBlocks(settings));
  const ResultTable table = TableOf(settings, report);
  std::cout << (form == OutputForm::kJson  ? ToRecordJson(table)
                : form == OutputForm::kCsv ? ToCsv(table)
                                           : ToText(table));
  return report.total.wrong == 0 ? kExitOk : kExitFailed;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<int> code = Run(ParseCommandLineOrExit(argc, argv, kUsage));
  return EndWith(kUsage.name, code);
}

}  // namespace
}  // namespace drydock::apps::blocks

int main(int argc, char** argv) { return drydock::apps::blocks::Main(argc, argv); }
