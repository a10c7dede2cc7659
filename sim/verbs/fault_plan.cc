#include "drydock/sim/verbs/fault_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/fabric/faults/fault.h"
#include "drydock/fabric/faults/plan_json.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/faults/device_faults.h"

namespace drydock::sim::verbs {
namespace {

using fabric::OperationKind;
using fabric::faults::Fault;
using fabric::faults::FaultEngine;
using fabric::faults::FaultPlan;
using fabric::faults::FaultRule;

// The faults that the library applies itself: a driver's calls that a plan makes fail.
fabric::faults::FaultSet DriverFaults() {
  fabric::faults::FaultSet faults;
  for (const Fault fault :
       {Fault::kOpenDomainFails, Fault::kOpenCompletionQueueFails, Fault::kOpenEndpointFails,
        Fault::kRegisterMemoryFails, Fault::kSendQueueFull, Fault::kReceiveQueueFull}) {
    faults.set(static_cast<std::size_t>(fault));
  }
  return faults;
}

// Faults of the device that only sim/driver asks for: a program of libibverbs says itself how deep
// its queues are, has no address vectors, and posts nothing unsignalled.
constexpr Fault kOfAnotherDriver[] = {Fault::kSendQueueDepth,   Fault::kReceiveQueueDepth,
                                      Fault::kInjectLimit,      Fault::kCompletionQueueDepth,
                                      Fault::kLateIntroduction, Fault::kUnsignalledError};

// "rule 1 (early): late_introduction".
std::string Title(std::size_t index, const FaultRule& rule) {
  return absl::StrCat(fabric::faults::RuleLabel(index, rule.name), ": ",
                      std::string(fabric::faults::Describe(rule.fault).name));
}

absl::Status CheckDriver(const FaultPlan& plan) {
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    const auto* const found =
        std::find(std::begin(kOfAnotherDriver), std::end(kOfAnotherDriver), plan.rules[i].fault);
    if (found == std::end(kOfAnotherDriver)) continue;
    return absl::UnimplementedError(absl::StrCat(
        Title(i, plan.rules[i]), " is applied with Drydock's own driver, which efa-run replaces"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<FaultEngine>> LoadFaults(const std::string& file,
                                                        std::uint64_t seed) {
  absl::StatusOr<FaultPlan> plan = fabric::faults::ReadFaultPlan(file);
  if (!plan.ok()) {
    return absl::Status(plan.status().code(), absl::StrCat("fault plan ", plan.status().message()));
  }
  if (absl::Status status = CheckDriver(*plan); !status.ok()) return status;
  return FaultEngine::Create(*std::move(plan), seed,
                             {.device = DeviceFaults(), .decorator = DriverFaults()});
}

std::vector<std::string> IdleBetweenProcesses(const FaultPlan& plan) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    const FaultRule& rule = plan.rules[i];
    switch (rule.fault) {
      case Fault::kReorderedSegments:
      case Fault::kTornPlacement:
      case Fault::kDuplicatePlacement:
        // The data of reads are placed here.
        if (rule.when.operations == fabric::faults::OperationSet{OperationKind::kRead}) break;
        lines.push_back(
            absl::StrCat(Title(i, rule), " does nothing to writes and messages between processes"));
        break;
      case Fault::kImmediateFlood:
      case Fault::kRegionCloses:
        lines.push_back(absl::StrCat(Title(i, rule), " does nothing between processes"));
        break;
      default:
        break;
    }
  }
  return lines;
}

}  // namespace drydock::sim::verbs
