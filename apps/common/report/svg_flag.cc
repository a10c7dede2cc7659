#include "drydock/apps/common/report/svg_flag.h"

#include <ostream>

#include "absl/flags/flag.h"
#include "drydock/apps/common/output_file.h"
#include "drydock/coro/status_macros.h"

ABSL_FLAG(
    std::string, svg, "",
    "Also draw charts, into this file. Where a launcher (srun, mpirun) starts several processes, "
    "each that has a result writes a file of its own: FILE.rank0.svg, FILE.rank1.svg, ...");

namespace drydock::apps {

absl::Status CheckSvg() {
  const std::string path = PathOfThisRank(absl::GetFlag(FLAGS_svg));
  return path.empty() ? absl::OkStatus() : CheckOutputFlag("svg", path);
}

absl::Status DrawIfAsked(const std::function<std::string()>& draw) {
  const std::string path = PathOfThisRank(absl::GetFlag(FLAGS_svg));
  if (path.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckSvg());
  return WriteOutput("svg", path, [&](std::ostream& out) { out << draw(); });
}

}  // namespace drydock::apps
