// --faults=FILE: a fault plan above the fabric that a program runs on (docs/faults.md).

#ifndef DRYDOCK_APPS_COMMON_FAULT_FLAGS_H_
#define DRYDOCK_APPS_COMMON_FAULT_FLAGS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/clock.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/fault.h"

namespace drydock::apps {

// The faults of one run. Thread-safe.
class FaultRun {
 public:
  // Null when --faults is not given. Errors: kNotFound: no such file; kInvalidArgument: not a plan,
  // with the rule and the key; kUnimplemented: a rule that only the simulated NIC could apply.
  // `device`: the faults that the simulated NIC applies itself, where it asks engine(); the rest is
  // for Wrap.
  static absl::StatusOr<std::unique_ptr<FaultRun>> FromFlags(
      std::uint64_t seed, const fabric::faults::FaultSet& device = {});

  // The same for a file.
  static absl::StatusOr<std::unique_ptr<FaultRun>> Load(
      const std::string& path, std::uint64_t seed, const fabric::faults::FaultSet& device = {});

  // The fabric with the plan's faults. `clock` outlives it; `wake_at`: see FaultyFabricOptions.
  absl::StatusOr<std::unique_ptr<fabric::Fabric>> Wrap(
      std::unique_ptr<fabric::Fabric> fabric, const coro::Clock& clock,
      std::function<void(coro::Time)> wake_at = {}) const;

  // The engine that both layers ask.
  const std::shared_ptr<fabric::faults::FaultEngine>& engine() const { return engine_; }

  // A line for each rule: how often it could have fired, how often it did. With heading.
  std::string Table() const;

  // kFailedPrecondition: a rule fired less or more often than it had to, so that the run does not
  // show what it was meant to.
  absl::Status Verify() const;

 private:
  FaultRun(std::string path, std::shared_ptr<fabric::faults::FaultEngine> engine)
      : path_(std::move(path)), engine_(std::move(engine)) {}

  const std::string path_;
  const std::shared_ptr<fabric::faults::FaultEngine> engine_;
};

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_FAULT_FLAGS_H_
