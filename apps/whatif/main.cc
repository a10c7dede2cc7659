// The whatif program: see README.md in this folder.

#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "apps/common/command_line.h"
#include "apps/common/report/output_flags.h"
#include "apps/common/report/svg_flag.h"
#include "apps/whatif/question.h"
#include "apps/whatif/report.h"
#include "coro/status_macros.h"

ABSL_FLAG(bool, steps, false, "What was published of this machine, beside what is predicted.");

namespace apps::whatif {
namespace {

const Usage kUsage = {
    .name = "whatif",
    .summary = "predicts how fast a workload is on EFA machines, and what limits it.",
    .synopsis =
        "[--profile=NAME] [--size=N] [--window=N] [--nics=N] [--threads=N] [--policy=NAME] ...\n"
        "[...] --sweep=size|nics|threads|window [--json|--csv] [--svg=FILE]\n"
        "[--profile=NAME] --steps [--json|--csv] [--svg=FILE]",
    .examples =
        "  whatif                                     all NICs of a p5.48xlarge, pages of 64 KiB\n"
        "  whatif --nics=1 --size=4KiB --window=8     is one NIC fast enough with 8 under way?\n"
        "  whatif --sweep=window --nics=1             from which window on is it?\n"
        "  whatif --threads=1 --burst=1               what one thread gets out of all of them\n"
        "  whatif --profile=p5en --sweep=size --svg=sizes.svg\n"
        "  whatif --steps                             how right all of this is",
};

template <typename What>
absl::StatusOr<std::string> Output(const What& what) {
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  RETURN_IF_ERROR(DrawIfAsked([&what] { return ToText(what, Format::kSvg); }));
  return ToText(what, form == OutputForm::kJson  ? Format::kJson
                      : form == OutputForm::kCsv ? Format::kCsv
                                                 : Format::kText);
}

absl::StatusOr<std::string> Run(const std::vector<std::string>& positional) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument: ", positional.front(), " (--help shows the flags)"));
  }
  RETURN_IF_ERROR(OutputFormFromFlags().status());
  ASSIGN_OR_RETURN(Question question, QuestionFromFlags());
  if (absl::GetFlag(FLAGS_steps)) {
    if (question.sweep != Sweep::kNone) {
      return absl::InvalidArgumentError("choose one: --steps or --sweep");
    }
    ASSIGN_OR_RETURN(const Comparison comparison, Compare(*question.profile));
    return Output(comparison);
  }
  ASSIGN_OR_RETURN(const Answer answer, Predict(std::move(question)));
  return Output(answer);
}

}  // namespace
}  // namespace apps::whatif

int main(int argc, char** argv) {
  return apps::PrintMain(argc, argv, apps::whatif::kUsage, apps::whatif::Run);
}
