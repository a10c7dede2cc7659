// Lays a folder in sysfs' form over /sys, for one process and those that it starts.

#ifndef DRYDOCK_SIM_VERBS_SYSFS_MOUNT_H_
#define DRYDOCK_SIM_VERBS_SYSFS_MOUNT_H_

#include <string>

#include "absl/status/status.h"

namespace drydock::sim::verbs {

// Gives this process a mount namespace of its own: where it has CAP_SYS_ADMIN, that alone; else in
// a user namespace, where the process stays the user and the group that it is. What is mounted in
// it is seen nowhere else; what others mount later is seen in it. It has no other thread.
//
// kUnavailable: neither may be had here; says what is missing. The process may be in half of a
// namespace then: it should end.
absl::Status TakeMountNamespace();

// Shows what is below `tree` at the same places below `sysfs`, which is /sys but for tests. Where
// both have a name, the tree's wins. Nothing real is left in class/infiniband and
// class/infiniband_verbs, because the machine has no other NICs, nor in the folder of a PCI
// function of the tree's: links of other classes into a real one there (class/net/eth0 of a device
// at 0000:00:06.0) lead nowhere. A real function of the same address elsewhere below devices/,
// behind a bridge, stays there, but bus/pci/devices/ADDRESS is the tree's. Everything else stays as
// it is, with what is mounted below it. What comes from the tree is copied, and nobody can change
// it. Files at the top of the tree are not shown.
//
// Needs TakeMountNamespace, and one bind mount for each file or folder that stays beside something
// that is new. kUnavailable: names the place. Some of it may be mounted then.
absl::Status LayOverSysfs(const std::string& tree, const std::string& sysfs);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_SYSFS_MOUNT_H_
