#include "drydock/apps/common/text_file.h"

#include <cstdio>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/units.h"

namespace drydock::apps {

absl::StatusOr<std::string> ReadTextFile(const std::string& path, std::size_t most_bytes) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return absl::NotFoundError("no such file, or not readable");
  std::string text;
  std::vector<char> part(1 << 16);
  std::size_t length = 0;
  while ((length = std::fread(part.data(), 1, part.size(), file)) > 0 &&
         text.size() <= most_bytes) {
    text.append(part.data(), length);
  }
  const bool failed = std::ferror(file) != 0;
  std::fclose(file);
  if (failed) return absl::NotFoundError("not a file that can be read");
  if (text.size() > most_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("longer than ", FormatBytes(most_bytes)));
  }
  return text;
}

}  // namespace drydock::apps
