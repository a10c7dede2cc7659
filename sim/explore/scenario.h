// A program that can be explored: one whole run of it as a function of a trial.

#ifndef DRYDOCK_SIM_EXPLORE_SCENARIO_H_
#define DRYDOCK_SIM_EXPLORE_SCENARIO_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "drydock/sim/explore/needs.h"
#include "drydock/sim/explore/parameters.h"
#include "drydock/sim/explore/trial.h"

namespace drydock::sim::explore {

// How a run ended, by the program's own account and by the scenario's knowledge of the truth.
class Outcome {
 public:
  // The program ended as this status says; with OK, its data is right.
  static Outcome Of(absl::Status status) { return Outcome(std::move(status), std::nullopt); }
  // The program took wrong data for right. `what`: one line.
  static Outcome WrongData(std::string what) { return Outcome(absl::OkStatus(), std::move(what)); }

  const absl::Status& status() const { return status_; }
  const std::optional<std::string>& wrong_data() const { return wrong_data_; }

 private:
  Outcome(absl::Status status, std::optional<std::string> wrong_data)
      : status_(std::move(status)), wrong_data_(std::move(wrong_data)) {}

  absl::Status status_;
  std::optional<std::string> wrong_data_;
};

// Stateless: runs of different seeds know nothing of each other.
class Scenario {
 public:
  virtual ~Scenario() = default;

  // The value of --scenario: lower case, words joined by "-". Static storage.
  virtual std::string_view name() const = 0;
  // One line for a person. Static storage.
  virtual std::string_view description() const = 0;
  // The machines' profile, by name. Static storage.
  virtual std::string_view profile() const { return "small"; }
  // Its sizes; Trial::parameter has their values. Static storage.
  virtual std::span<const Parameter> parameters() const { return {}; }
  // The needs of its machines on each NIC with these parameters, all of which are given; absent:
  // unknown.
  virtual std::optional<Needs> needs(const Parameters&) const { return std::nullopt; }
  // Whether the program tries again until it succeeds: then it has to end well once the faults are
  // over (RunSpec::heal_after), and a clean error is none.
  virtual bool retries() const { return false; }

  // Runs the program once, in the trial's world and on the trial's clock. When it returns, nothing
  // is left that uses the trial. A function of the trial's seed, faults and
  // parameters.
  virtual Outcome Run(Trial& trial) const = 0;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_SCENARIO_H_
