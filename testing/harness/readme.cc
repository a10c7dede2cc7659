#include "drydock/testing/harness/readme.h"

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "drydock/testing/harness/subprocess.h"

namespace drydock::harness {

std::vector<ReadmeSession> ReadmeSessions(std::istream& page, absl::string_view target) {
  const std::string command = absl::StrCat("$ ./bazelw run ", target, " ");
  std::vector<ReadmeSession> sessions;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (absl::StartsWith(line, "$ ")) {
      // With a space, so that "//apps/write" is not "//apps/writer".
      const std::string whole = absl::StrCat(line, " ");
      absl::string_view rest = whole;
      inside = absl::ConsumePrefix(&rest, command);
      absl::ConsumePrefix(&rest, "-- ");
      if (inside) sessions.push_back({absl::StrSplit(rest, ' ', absl::SkipEmpty()), ""});
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      absl::StrAppend(&sessions.back().output, line, "\n");
    }
  }
  return sessions;
}

std::vector<ReadmeSession> ReadmeSessions(absl::string_view target) {
  std::ifstream page(ProgramPath("DRYDOCK_README"));
  return ReadmeSessions(page, target);
}

}  // namespace drydock::harness
