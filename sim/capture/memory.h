// Memory of a replayed machine: whole pages, so that it lies the same in every run, and taken only
// where it is touched.

#ifndef DRYDOCK_SIM_CAPTURE_MEMORY_H_
#define DRYDOCK_SIM_CAPTURE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace drydock::sim::capture {

// Bytes that are zero at first. The pointer keeps them.
absl::StatusOr<std::shared_ptr<std::byte>> AllocatePages(std::uint64_t bytes);

// Makes such memory zero again, and gives its pages back, unless they are locked.
void ClearPages(std::byte* first, std::uint64_t bytes);

}  // namespace drydock::sim::capture

#endif  // DRYDOCK_SIM_CAPTURE_MEMORY_H_
