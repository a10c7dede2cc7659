// The gpuloc program: see README.md in this folder.

#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/machine_choice.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/gpuloc/drawing.h"
#include "drydock/apps/gpuloc/report.h"
#include "drydock/coro/status_macros.h"
#include "drydock/gpu/topology/hwloc_xml.h"

ABSL_FLAG(bool, svg, false, "Print a drawing, as SVG, to be put into a file.");
ABSL_FLAG(bool, xml, false,
          "Print hwloc's XML of the machine, reduced to what this program shows: a profile becomes "
          "a file for lstopo, or for another program's HWLOC_XMLFILE.");

namespace drydock::apps::gpuloc {
namespace {

const Usage kUsage = {
    .name = "gpuloc",
    .summary = "shows which GPUs, NICs and CPUs of a machine are near each other.",
    .synopsis = "[--topology=FILE|profile:NAME] [--json|--csv|--svg|--xml]",
    .examples =
        "  gpuloc                                      this machine\n"
        "  gpuloc --topology=machine.xml               one that `lstopo machine.xml` "
        "recorded\n"
        "  gpuloc --topology=profile:p5 --json         a simulated p5.48xlarge, for a "
        "script\n"
        "  gpuloc --topology=profile:p5 --svg >p5.svg  a drawing of it\n"
        "\nExit status: 0 shown, 1 it failed, 2 bad input.",
};

// Empty: the report for a person.
absl::StatusOr<std::string> Format() {
  std::string format;
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  for (const auto& [name, asked] :
       {std::pair("json", form == OutputForm::kJson), std::pair("csv", form == OutputForm::kCsv),
        std::pair("svg", absl::GetFlag(FLAGS_svg)), std::pair("xml", absl::GetFlag(FLAGS_xml))}) {
    if (!asked) continue;
    if (!format.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("choose one: --", format, " or --", name));
    }
    format = name;
  }
  return format;
}

absl::StatusOr<std::string> Text(const std::vector<std::string>& positional) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("unexpected argument: ", positional.front(),
                                                   " (a file is named --topology=FILE)"));
  }
  ASSIGN_OR_RETURN(const std::string format, Format());
  ASSIGN_OR_RETURN(const MachineChoice choice, ChooseMachine(TopologyFromFlags()));
  if (format == "json") return FormatJson(choice);
  if (format == "csv") return FormatCsv(choice);
  if (format == "svg") return DrawSvg(choice);
  if (format == "xml") return gpu::topology::WriteHwlocXml(choice.machine);
  return FormatReport(choice);
}

}  // namespace
}  // namespace drydock::apps::gpuloc

int main(int argc, char** argv) {
  return drydock::apps::PrintMain(argc, argv, drydock::apps::gpuloc::kUsage,
                                  drydock::apps::gpuloc::Text);
}
