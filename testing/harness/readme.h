// What a README shows of a program, for the test that runs it again so that it cannot go stale:
//
//   ```
//   $ ./bazelw run //apps/write -- --completion=last --seed=1
//   what it prints
//   ```

#ifndef DRYDOCK_TESTING_HARNESS_README_H_
#define DRYDOCK_TESTING_HARNESS_README_H_

#include <istream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace drydock::harness {

struct ReadmeSession {
  std::vector<std::string> arguments;  // behind "--"
  std::string output;                  // whole lines
};

// The sessions of `page` that run `target`, such as "//apps/write", from top to bottom. One ends
// with its block, or where the block shows the next command line.
std::vector<ReadmeSession> ReadmeSessions(std::istream& page, absl::string_view target);

// Those of the README whose path is in the environment variable DRYDOCK_README (see `env` in
// BUILD). Fails the process if it is not set; none if there is no such file.
std::vector<ReadmeSession> ReadmeSessions(absl::string_view target);

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_README_H_
