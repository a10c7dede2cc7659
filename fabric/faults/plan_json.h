// A fault plan as text. The schema is in docs/faults.md.

#ifndef DRYDOCK_FABRIC_FAULTS_PLAN_JSON_H_
#define DRYDOCK_FABRIC_FAULTS_PLAN_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/faults/plan.h"

namespace drydock::fabric::faults {

// Reads a plan, and validates it. The text may come from anywhere. kInvalidArgument, in one line
// that names the rule and the key: not JSON, a key that is unknown or there twice, a value of the
// wrong type or out of range, filters that contradict each other, a fault that the mode does not
// allow, an illegal fault without the word "illegal".
absl::StatusOr<FaultPlan> ParseFaultPlan(absl::string_view text);

// The plan of a file, which may be any: of at most 1 MiB. Messages begin with its name. kNotFound: it
// cannot be read. Other codes: ParseFaultPlan's.
absl::StatusOr<FaultPlan> ReadFaultPlan(const std::string& path);

// The plan as text, with every parameter that its faults take and everything else that is not the
// default. What ParseFaultPlan makes of it equals `plan`, if that is valid.
std::string FormatFaultPlan(const FaultPlan& plan);

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_PLAN_JSON_H_
