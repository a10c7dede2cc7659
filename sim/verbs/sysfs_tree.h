// Writes the files below /sys that libfabric and programs above it read about a NIC, for simulated
// NICs.

#ifndef DRYDOCK_SIM_VERBS_SYSFS_TREE_H_
#define DRYDOCK_SIM_VERBS_SYSFS_TREE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim::verbs {

// Writes the tree of the profile's NICs below `root`, a folder that is there and empty: the files
// that libibverbs and libfabric look for (class/infiniband_verbs/abi_version; of each NIC a PCI
// folder with its driver, vendor, device and NUMA node), and those that NIXL and aws-ofi-nccl look
// for: links of the PCI bus, speeds, the GUID, the name of the instance type. kUnavailable: names
// the file.
absl::Status WriteSysfsTree(const Profile& profile, const std::string& root);

// Returns the path of a tree for the profile, in a folder that only this user can reach. Writes it
// if it does not exist, and leaves it for the next run; its name has a digest of its contents.
// `parent`: where that folder is, such as /tmp. kUnavailable: the folder cannot be made.
// kPermissionDenied: it is another user's.
//
// `topology` is the machine as hwloc's XML: the file machine.xml in the folder.
absl::StatusOr<std::string> SysfsTreeFor(const Profile& profile, const std::string& parent,
                                         const std::string& topology);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_SYSFS_TREE_H_
