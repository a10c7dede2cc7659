// Which NIC of a fabric a program uses, and whether that NIC can do what it needs.

#ifndef DRYDOCK_APPS_COMMON_NIC_CHOICE_H_
#define DRYDOCK_APPS_COMMON_NIC_CHOICE_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/fabric.h"

namespace drydock::apps {

// Index of the NIC called `name` (empty: the first). kNotFound lists the names.
absl::StatusOr<std::size_t> FindNic(const fabric::Fabric& fabric, const std::string& name);

// kUnimplemented, naming the NIC, what it lacks, and the flag that helps where one does.
absl::Status RequireCapabilities(const fabric::NicInfo& nic,
                                 std::span<const fabric::Capability> needed);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_NIC_CHOICE_H_
