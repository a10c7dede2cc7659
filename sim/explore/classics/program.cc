#include "drydock/sim/explore/classics/program.h"

#include "drydock/fabric/coverage/points.h"

namespace drydock::sim::explore {

Outcome RunProgram(Trial& trial, std::size_t count,
                   coro::Task<absl::Status> (*program)(Trial& trial, Nodes& machines,
                                                       Truth& truth)) {
  coro::EventLoop loop(trial.clock());
  absl::StatusOr<Nodes> machines = OpenNodes(trial, loop, count);
  fabric::coverage::Sometimes("classic: a machine could not be opened", !machines.ok());
  if (!machines.ok()) return Outcome::Of(machines.status());
  Truth truth;
  const absl::Status status = loop.Run(program(trial, *machines, truth));
  fabric::coverage::Sometimes("classic: the program gave up", !status.ok());
  return truth.OutcomeOf(status);
}

absl::Status FirstError(const std::vector<absl::Status>& statuses) {
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace drydock::sim::explore
