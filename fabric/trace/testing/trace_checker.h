// For tests: reads a trace as a viewer does, and reports where it departs from
// docs/trace-format.md.

#ifndef DRYDOCK_FABRIC_TRACE_TESTING_TRACE_CHECKER_H_
#define DRYDOCK_FABRIC_TRACE_TESTING_TRACE_CHECKER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace drydock::fabric::trace {

struct CheckedSlice {
  std::string name;
  std::string category;
  std::int64_t ts_ns = 0;
  std::int64_t duration_ns = 0;
  int pid = 0;
  int tid = 0;
  std::map<std::string, std::string> arguments;  // as JSON
};

struct CheckedTrace {
  std::vector<std::string> problems;
  std::map<std::string, std::string> other_data;          // as JSON
  std::map<std::pair<int, int>, std::string> tracks;      // by pid and tid
  std::vector<CheckedSlice> slices;                       // in the order of the file
  std::vector<CheckedSlice> marks;                        // faults and checks
  std::map<std::string, std::vector<std::size_t>> flows;  // by id: indices of slices

  // The slices of a category.
  std::vector<CheckedSlice> Of(const std::string& category) const;
  // The categories along the flow with this id, each run of equal ones once: "post packet place".
  std::string PathOf(const std::string& flow) const;
};

// Never fails: text that cannot be read is a problem of the trace.
CheckedTrace CheckTrace(const std::string& json);

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_TESTING_TRACE_CHECKER_H_
