// What a kernel tells of its work.

#ifndef DRYDOCK_GPU_GDA_DEVICE_KERNEL_REPORT_H_
#define DRYDOCK_GPU_GDA_DEVICE_KERNEL_REPORT_H_

#include <cstdint>

#include "drydock/gpu/gda/queue/channel.h"

namespace drydock::gpu::gda {

// In memory that the host sees.
struct KernelReport {
  Outcome outcome = Outcome::kTimedOut;
  std::uint32_t failures = 0;
  std::uint32_t status = 0;       // EFA's, of the last failure
  std::uint64_t done = 0;         // transfers; wrong bytes
  std::uint64_t nanoseconds = 0;  // from before the first to after the last, on the device's clock
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_KERNEL_REPORT_H_
