// What is asked: one workload, or a row of them that differ in one thing.

#ifndef DRYDOCK_APPS_WHATIF_QUESTION_H_
#define DRYDOCK_APPS_WHATIF_QUESTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/model/workload.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::whatif {

enum class Sweep : std::uint8_t { kNone, kSize, kNics, kThreads, kWindow };

// "size". Static storage.
absl::string_view Name(Sweep sweep);

struct Question {
  const sim::Profile* profile = nullptr;
  Sweep sweep = Sweep::kNone;
  std::vector<sim::model::Workload> workloads;  // one, or those of the sweep
};

// The question of the flags. kInvalidArgument, kNotFound: one line that names the flag, and what it
// takes.
absl::StatusOr<Question> QuestionFromFlags();

// As many GPUs as `nics` NICs of this machine are for.
std::size_t GpusOf(const sim::Profile& profile, std::size_t nics);

// What stands for a workload in a table with this sweep: "64 KiB", "8".
std::string Label(const sim::model::Workload& workload, Sweep sweep);
// The same as a number.
double Value(const sim::model::Workload& workload, Sweep sweep);

// One line: the parts of a workload that do not come from the sweep.
std::string Describe(const Question& question);

}  // namespace drydock::apps::whatif

#endif  // DRYDOCK_APPS_WHATIF_QUESTION_H_
