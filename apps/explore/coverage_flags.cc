#include "drydock/apps/explore/coverage_flags.h"

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "drydock/apps/common/text_file.h"
#include "drydock/coro/status_macros.h"

ABSL_FLAG(std::string, coverage, "seen",
          "What to print of the points of the program and of the ways in which operations ended: "
          "seen, all (also those that no seed has seen), none.");
ABSL_FLAG(std::string, require_covered, "",
          "File with points and outcomes that the seeds together must reach; the exit status is 1 "
          "if one is missing (apps/explore/coverage has such files).");

ABSL_FLAG(std::string, until, "",
          "covered or covered:N: stop before --seeds when every point of the program has held and "
          "a block of N seeds (1000) showed nothing new.");

namespace drydock::apps {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

}  // namespace

absl::StatusOr<CoverageChoice> ReadCoverageFlags() {
  CoverageChoice choice;
  const std::string detail = absl::GetFlag(FLAGS_coverage);
  if (detail == "all") {
    choice.detail = CoverageDetail::kAll;
  } else if (detail == "none") {
    choice.detail = CoverageDetail::kNone;
  } else if (detail != "seen") {
    return absl::InvalidArgumentError(
        absl::StrCat("--coverage=", detail, ": it takes seen, all or none"));
  }
  const std::string until = absl::GetFlag(FLAGS_until);
  absl::string_view block = until;
  if (until == "covered") {
    choice.until_block = 1000;
  } else if (!until.empty() &&
             !(absl::ConsumePrefix(&block, "covered:") &&
               absl::SimpleAtoi(block, &choice.until_block) && choice.until_block > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--until=", until, ": it takes covered, or covered:N with N seeds"));
  }
  choice.file = absl::GetFlag(FLAGS_require_covered);
  if (choice.file.empty()) return choice;
  const absl::StatusOr<std::string> text = ReadTextFile(choice.file, kMostBytes);
  if (!text.ok()) {
    return absl::Status(text.status().code(), absl::StrCat("--require-covered=", choice.file, ": ",
                                                           text.status().message()));
  }
  ASSIGN_OR_RETURN(choice.requirements, sim::coverage::ParseRequirements(*text, choice.file));
  return choice;
}

absl::Status CheckCovered(const CoverageChoice& choice, const fabric::coverage::Report& report) {
  const std::vector<std::string> missing = NotCovered(choice.requirements, report);
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("not covered of ", choice.file, ": ", absl::StrJoin(missing, ", ")));
}

}  // namespace drydock::apps
