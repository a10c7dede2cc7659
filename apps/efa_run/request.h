// What the command line of efa-run asks for.

#ifndef DRYDOCK_APPS_EFA_RUN_REQUEST_H_
#define DRYDOCK_APPS_EFA_RUN_REQUEST_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/sim/verbs/seed_runs.h"
#include "drydock/sim/verbs/settings.h"

namespace drydock::apps {

struct Request {
  sim::verbs::Settings settings;
  bool quiet = false;
  bool help = false;
  bool topology = false;
  bool sysfs = false;
  bool is_virtual = false;
  std::optional<sim::verbs::SeedRange> seeds;  // instead of one
  std::string capsules;                        // with them: a folder; empty: none
  std::string replay;                          // a capsule to run instead of a program
  std::string shrink;                          // the same
  std::string out;                             // with shrink: a file; empty: its own and .min
  std::string picture;                         // with shrink: a file
  std::chrono::seconds patience{600};          // with seeds or a capsule: real time for one run
  std::vector<std::string> program;            // with its arguments
  std::string self;                            // how efa-run was named
  std::vector<std::string> flags;              // of the program's process, as they were given
};

// Flags are told to the program's process by the environment: those that it has already count where
// no flag says something else, and flags change it. INVALID_ARGUMENT and codes of
// Settings::FromEnvironment: one line.
absl::StatusOr<Request> ParseRequest(int count, char** words);

// The settings that the environment has.
absl::StatusOr<sim::verbs::Settings> SettingsOfEnvironment();

// How long the environment lets a process live, in seconds of virtual time.
std::uint32_t LimitOfEnvironment();

// The command that is this run again.
std::string CommandFor(const Request& request, std::uint64_t seed);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EFA_RUN_REQUEST_H_
