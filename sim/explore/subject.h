// The subject of replaying, shrinking and telling: a scenario, or a program that is no scenario and
// runs in a process of its own.

#ifndef DRYDOCK_SIM_EXPLORE_SUBJECT_H_
#define DRYDOCK_SIM_EXPLORE_SUBJECT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/sim/explore/parameters.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/scenario.h"
#include "drydock/sim/explore/traced_run.h"

namespace drydock::sim::explore {

// A program of `efa-run --virtual`, with its settings beside a RunSpec and a profile.
struct Program {
  static constexpr std::size_t kMostWords = 4096;
  static constexpr std::size_t kMostFiles = 256;

  std::vector<std::string> words;  // its name and its arguments
  std::uint32_t nics = 0;          // of the profile's; 0: all
  std::string findings = "fail";   // their treatment: fail, report, off
  bool delays = true;              // false: nothing takes the time that the profile says
  bool topology = false;           // hwloc shows it the profile's machine
  bool sysfs = false;              // /sys shows it the profile's NICs
  // Its files: by name, a hash of the program's file and of each library's. It helps a person to
  // see why two runs differ.
  std::map<std::string, std::string> files;

  friend bool operator==(const Program&, const Program&) = default;
};

struct Subject {
  std::string name;  // of the scenario; of the program, for a person
  std::string profile;
  std::span<const Parameter> parameters;  // of a scenario
  std::optional<Program> program;         // absent: it is a scenario
  // Runs it once. Errors: it could not be run at all.
  std::function<absl::StatusOr<TracedRun>(const RunSpec& spec)> run;
};

// The scenario, which outlives it, run in this process.
Subject SubjectOf(const Scenario& scenario);

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_SUBJECT_H_
