#include "drydock/apps/common/fault_flags.h"

#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/text_file.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/faults/faulty_fabric.h"
#include "drydock/fabric/faults/plan_json.h"

ABSL_FLAG(
    std::string, faults, "",
    "File with a fault plan in JSON: what goes wrong, to whom and when (docs/faults.md). After "
    "the run a table tells how often each rule fired; one that never did is an error.");

namespace drydock::apps {
namespace {

using fabric::faults::FaultEngine;
using fabric::faults::FaultPlan;
using fabric::faults::FaultSet;
using fabric::faults::RuleReport;

constexpr std::size_t kMostBytes = 1 << 20;

absl::StatusOr<std::shared_ptr<FaultEngine>> LoadEngine(const std::string& path, std::uint64_t seed,
                                                        const FaultSet& device) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMostBytes));
  ASSIGN_OR_RETURN(FaultPlan plan, fabric::faults::ParseFaultPlan(text));
  return FaultEngine::Create(
      std::move(plan), seed,
      {.device = device, .decorator = fabric::faults::FaultsOf(fabric::faults::Layer::kDecorator)});
}

// In front of a message: which flag it is about.
absl::Status Annotated(const absl::Status& status, const std::string& path) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("--faults=", path, ": ", status.message()));
}

std::string Expected(const RuleReport& rule) {
  if (!rule.expected.max.has_value()) return absl::StrCat(rule.expected.min, " or more");
  return absl::StrCat(rule.expected.min, " to ", *rule.expected.max);
}

}  // namespace

absl::StatusOr<std::unique_ptr<FaultRun>> FaultRun::FromFlags(std::uint64_t seed,
                                                              const FaultSet& device) {
  const std::string path = absl::GetFlag(FLAGS_faults);
  if (path.empty()) return std::unique_ptr<FaultRun>();
  return Load(path, seed, device);
}

absl::StatusOr<std::unique_ptr<FaultRun>> FaultRun::Load(const std::string& path,
                                                         std::uint64_t seed,
                                                         const FaultSet& device) {
  absl::StatusOr<std::shared_ptr<FaultEngine>> engine = LoadEngine(path, seed, device);
  if (!engine.ok()) return Annotated(engine.status(), path);
  return std::unique_ptr<FaultRun>(new FaultRun(path, *std::move(engine)));
}

absl::StatusOr<std::unique_ptr<fabric::Fabric>> FaultRun::Wrap(
    std::unique_ptr<fabric::Fabric> fabric, const coro::Clock& clock,
    std::function<void(coro::Time)> wake_at) const {
  auto wrapped = fabric::faults::OpenFaultyFabric(
      std::move(fabric), {.engine = engine_, .clock = &clock, .wake_at = std::move(wake_at)});
  if (!wrapped.ok()) return Annotated(wrapped.status(), path_);
  return wrapped;
}

std::string FaultRun::Table() const {
  std::vector<std::vector<std::string>> rows = {{"rule", "fault", "eligible", "fired", "expected"}};
  for (const RuleReport& rule : engine_->Report()) {
    rows.push_back({rule.name, std::string(fabric::faults::Describe(rule.fault).name),
                    absl::StrCat(rule.eligible), absl::StrCat(rule.fired), Expected(rule)});
  }
  return FormatTable(rows);
}

absl::Status FaultRun::Verify() const { return Annotated(engine_->Verify(), path_); }

}  // namespace drydock::apps
