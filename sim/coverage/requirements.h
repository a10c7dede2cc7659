// The required coverage of an exploration, as a file:
//
//   # a comment
//   sometimes "a post was retried"     held in at least one run
//   reachable "peer went away"         reached in at least one run
//   always "window holds"              looked at in at least one run
//   cell write remote_address *        some write ended so, at any NIC
//   cell * again client/*              some post found its queue full, at a NIC of the client
//
// The words of a cell are those of matrix.h; * stands for any. A NIC may end in *.

#ifndef DRYDOCK_SIM_COVERAGE_REQUIREMENTS_H_
#define DRYDOCK_SIM_COVERAGE_REQUIREMENTS_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/coverage/report.h"

namespace drydock::sim::coverage {

// In the order of the file. Of a cell, "*" stands for any operation or outcome.
struct Requirement {
  int line = 0;
  std::variant<fabric::coverage::Point, fabric::coverage::Cell> what;
};

// kInvalidArgument: one line that begins with `name`, the number of the line, and what is wrong
// with it. A file that requires nothing is wrong, too.
absl::StatusOr<std::vector<Requirement>> ParseRequirements(absl::string_view text,
                                                           absl::string_view name);

// The requirements that the runs do not meet, as the file has them: `sometimes "retried"`.
std::vector<std::string> NotCovered(const std::vector<Requirement>& requirements,
                                    const fabric::coverage::Report& report);

}  // namespace drydock::sim::coverage

#endif  // DRYDOCK_SIM_COVERAGE_REQUIREMENTS_H_
