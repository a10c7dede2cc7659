#include "drydock/fabric/async/transfer/policy.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace drydock::fabric::async::transfer {

std::string_view Name(Policy policy) {
  switch (policy) {
    case Policy::kRoundRobin:
      return "round-robin";
    case Policy::kSplit:
      return "split";
    case Policy::kByPeer:
      return "by-peer";
    case Policy::kByBytes:
      return "by-bytes";
    case Policy::kPinned:
      return "pinned";
    case Policy::kNearFirst:
      return "near-first";
  }
  return "unknown";
}

absl::StatusOr<Policy> ParsePolicy(absl::string_view name) {
  std::string names;
  for (int i = 0; i < kPolicyCount; ++i) {
    const auto policy = static_cast<Policy>(i);
    const std::string_view known = Name(policy);
    if (name == absl::string_view(known.data(), known.size())) return policy;
    absl::StrAppend(&names, i == 0 ? "" : ", ", std::string(known));
  }
  return absl::InvalidArgumentError(absl::StrCat("policy \"", name, "\" does not exist: ", names));
}

}  // namespace drydock::fabric::async::transfer
