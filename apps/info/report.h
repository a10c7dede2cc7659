// What this program found, as text for a person and as JSON. Pure functions: they open nothing.

#ifndef DRYDOCK_APPS_INFO_REPORT_H_
#define DRYDOCK_APPS_INFO_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/apps/common/backend_choice.h"
#include "drydock/fabric/nic_info.h"

namespace drydock::apps::info {

// The chosen fabric, and the others of the same NICs.
struct Report {
  std::string fabric;               // its description
  std::vector<std::string> others;  // --provider's names of the other fabrics of these NICs
  bool simulated = false;
  std::string profile;              // the simulated machine; empty: a real one
  std::string profile_description;  // one line
  std::string profile_unknown;      // what is not published of this machine
  std::string reason;               // why it was chosen; empty: it was asked for
  std::vector<fabric::NicInfo> nics;
};

// A line for each NIC, then limits and capabilities, each distinct set of them once. Ends with a
// line break, as all of these do.
std::string FormatReport(const Report& report);

// One object; README.md lists its keys. Numbers are raw; no limit is 2^64-1.
std::string FormatJson(const Report& report);

// A line for each NIC and fabric: what FormatJson has of it, without limits and capabilities.
std::string FormatCsv(const Report& report);

// What can be chosen from. `providers` may be an error: its message is shown instead.
using Providers = absl::StatusOr<std::vector<ProviderOffer>>;
std::string FormatList(const Providers& providers);
std::string FormatListJson(const Providers& providers);
std::string FormatListCsv(const Providers& providers);

}  // namespace drydock::apps::info

#endif  // DRYDOCK_APPS_INFO_REPORT_H_
