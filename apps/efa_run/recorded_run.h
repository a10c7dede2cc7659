// One run of a program in virtual time of which everything is known: its faults, operations and
// events, and how it ended.

#ifndef DRYDOCK_APPS_EFA_RUN_RECORDED_RUN_H_
#define DRYDOCK_APPS_EFA_RUN_RECORDED_RUN_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/efa_run/request.h"
#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/subject.h"
#include "drydock/sim/explore/traced_run.h"
#include "drydock/sim/verbs/run_record.h"
#include "drydock/sim/verbs/seed_runs.h"

namespace drydock::apps {

// In efa-run's process, for one run. Holds two descriptors.
class RecordedRun {
 public:
  // kInvalidArgument: more firings or operations than a process is told of. kUnavailable: no
  // memory, no descriptors.
  static absl::StatusOr<std::shared_ptr<RecordedRun>> Prepare(const sim::explore::RunSpec& spec);
  ~RecordedRun();
  RecordedRun(const RecordedRun&) = delete;
  RecordedRun& operator=(const RecordedRun&) = delete;

  // What the new process does: it becomes the program of `request`, whose run is this one. Lives as
  // long as the process does, and `request` with it.
  static sim::verbs::Process ProcessOf(const std::shared_ptr<RecordedRun>& run,
                                       const Request& request);

  // What it came to. A trace lives on its own.
  static sim::explore::TracedRun ResultOf(const std::shared_ptr<RecordedRun>& run,
                                          const sim::verbs::EndedRun& ended);

  const sim::explore::RunSpec& spec() const { return spec_; }
  // A hash of the program's file and of each library's that it had, by name; see
  // sim::explore::Program::files.
  std::map<std::string, std::string> FilesOf(const Request& request) const;

 private:
  RecordedRun(const sim::explore::RunSpec& spec, std::unique_ptr<sim::verbs::RunRecordFile> record,
              int plan)
      : spec_(spec), record_(std::move(record)), plan_(plan) {}
  // Becomes the program of the run; returns only where that fails.
  absl::Status Become(const Request& request) const;
  const sim::verbs::RunRecord& Read() const { return record_->Read(spec_.plan.rules.size()); }

  const sim::explore::RunSpec spec_;
  const std::unique_ptr<sim::verbs::RunRecordFile> record_;
  const int plan_;  // the plan, as text; negative: it has no rules
};

// Whether it was killed because it was not over in time, of the machine's: no hang that the clock of
// the program shows.
bool IsUnfinished(const sim::explore::SeedResult& result);

// A word for how a run failed, of which there is one capsule each: "exit-3", "signal-11", "hang",
// "unfinished", "use-after-deregister".
std::string KindOf(const sim::verbs::EndedRun& ended, const sim::explore::SeedResult& result);

// "ended with exit status 3", "hang: nothing is under way ...": one line for a person.
std::string HowItEnded(const sim::explore::SeedResult& result);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_EFA_RUN_RECORDED_RUN_H_
