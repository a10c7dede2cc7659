// The verdict on a run of one seed.

#ifndef DRYDOCK_SIM_EXPLORE_VERDICT_H_
#define DRYDOCK_SIM_EXPLORE_VERDICT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drydock/fabric/coverage/report.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/sim/events/event_log.h"

namespace drydock::sim::explore {

enum class Verdict : std::uint8_t {
  kCorrect,           // it ended, and its data is right
  kCleanError,        // it ended with an error, after a rule fired or a long starvation
  kUnexplainedError,  // it ended with an error, though no rule fired
  kWrongData,         // it took data for right that is not
  kHang,              // it waits for an event that cannot happen, or for longer than the limit
  kFinding,           // it broke a rule of RDMA that the simulator checks
  kNondeterministic,  // two runs of the seed differ
  kCrash,             // its process died
};
inline constexpr std::size_t kVerdictCount = static_cast<std::size_t>(Verdict::kCrash) + 1;

// "correct", "clean-error", ...: for tables and scripts. Static storage.
std::string_view Name(Verdict verdict);

// The verdict of that name; absent: there is none.
std::optional<Verdict> VerdictFromName(std::string_view name);

// Whether a program with this verdict has a bug.
bool IsFailure(Verdict verdict);

// One rule of the seed's plan, after the run.
struct RuleCount {
  std::string name;
  std::uint64_t eligible = 0;
  std::uint64_t fired = 0;

  friend bool operator==(const RuleCount&, const RuleCount&) = default;
};

struct SeedResult {
  std::uint64_t seed = 0;
  Verdict verdict = Verdict::kCorrect;
  std::string text;   // the details, one line; empty when correct
  std::string check;  // of a finding: the name of the rule, or of the program's point, that broke
  Digest digest;      // of all that happened in the world; zero after a crash
  std::uint64_t events = 0;
  std::vector<RuleCount> rules;  // the plan's order; empty after a crash
  std::string waits;  // of a hang: the wait graph, several lines (sim/checks/wait_graph.h)
  // Of this run; empty after a crash, and without outcomes of one that polls or posts for ever.
  fabric::coverage::Report coverage;

  friend bool operator==(const SeedResult&, const SeedResult&) = default;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_VERDICT_H_
