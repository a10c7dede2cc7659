#include "drydock/apps/common/report/svg_flag.h"

#include <fstream>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"

ABSL_FLAG(std::string, svg, "", "Also draw charts, into this file.");

namespace drydock::apps {

absl::Status DrawIfAsked(const std::function<std::string()>& draw) {
  const std::string path = absl::GetFlag(FLAGS_svg);
  if (path.empty()) return absl::OkStatus();
  std::ofstream file(path, std::ios::binary);
  file << draw() << std::flush;
  if (file.good()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--svg=", path, ": cannot write this file"));
}

}  // namespace drydock::apps
