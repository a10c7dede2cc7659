// Which NIC of a fabric a program uses, and whether that NIC can do what it needs.

#ifndef APPS_COMMON_NIC_CHOICE_H_
#define APPS_COMMON_NIC_CHOICE_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fabric/fabric.h"

namespace apps {

// Index of the NIC called `name` (empty: the first). kNotFound lists the names.
absl::StatusOr<std::size_t> FindNic(const fabric::Fabric& fabric, const std::string& name);

// kUnimplemented, naming the NIC, what it lacks, and the flag that helps where one does.
absl::Status RequireCapabilities(const fabric::NicInfo& nic,
                                 std::span<const fabric::Capability> needed);

}  // namespace apps

#endif  // APPS_COMMON_NIC_CHOICE_H_
