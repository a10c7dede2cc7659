#include "drydock/apps/doctor/finding.h"

#include <algorithm>

#include "drydock/fabric/printable.h"

namespace drydock::apps::doctor {

absl::string_view NameOf(Group group) {
  switch (group) {
    case Group::kMachine:
      return "machine";
    case Group::kNics:
      return "nics";
    case Group::kLibraries:
      return "libraries";
    case Group::kLimits:
      return "limits";
    case Group::kGpus:
      return "gpus";
    case Group::kPlaces:
      return "places";
    case Group::kNetwork:
      return "network";
    case Group::kPlan:
      break;
  }
  return "plan";
}

absl::string_view NameOf(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kCannot:
      break;
  }
  return "cannot";
}

const std::vector<Group>& AllGroups() {
  static const auto* const kGroups =
      new std::vector<Group>{Group::kMachine, Group::kNics,   Group::kLibraries, Group::kLimits,
                             Group::kGpus,    Group::kPlaces, Group::kNetwork,   Group::kPlan};
  return *kGroups;
}

void Findings::Add(absl::string_view check, Severity severity, const std::string& what,
                   const std::string& fix) {
  into_.push_back({group_, std::string(check), severity, what, fix});
}

Severity WorstOf(const std::vector<Finding>& findings) {
  Severity worst = Severity::kOk;
  for (const Finding& finding : findings) worst = std::max(worst, finding.severity);
  return worst;
}

std::string Printable(absl::string_view text, std::size_t max_bytes) {
  std::string line = fabric::Printable(text, max_bytes);
  if (text.size() > max_bytes) line += "...";
  return line;
}

}  // namespace drydock::apps::doctor
