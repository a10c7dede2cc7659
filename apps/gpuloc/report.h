// A machine's topology as text for a person and as JSON. Pure functions.

#ifndef DRYDOCK_APPS_GPULOC_REPORT_H_
#define DRYDOCK_APPS_GPULOC_REPORT_H_

#include <string>
#include <vector>

#include "drydock/apps/common/machine_choice.h"

namespace drydock::apps::gpuloc {

// The tree, how near every GPU is to every NIC, and which belong together. Ends with a line break,
// as all of these do.
std::string FormatReport(const MachineChoice& choice);

// One object; README.md lists its keys.
std::string FormatJson(const MachineChoice& choice);

// A line for each GPU and NIC: how near they are, and whether the GPU is to use it.
std::string FormatCsv(const MachineChoice& choice);

// "0-3,8": indices of devices, ascending, as CPUs are listed.
std::string FormatIndices(const std::vector<int>& indices);

}  // namespace drydock::apps::gpuloc

#endif  // DRYDOCK_APPS_GPULOC_REPORT_H_
