// The stand-in GPU's driver: what CUDA's answers about memory, contexts and dmabufs, modelled.

#ifndef DRYDOCK_GPU_HOST_DEVICE_HOST_DRIVER_H_
#define DRYDOCK_GPU_HOST_DEVICE_HOST_DRIVER_H_

#include <memory>

#include "drydock/gpu/memory_driver.h"

namespace drydock::gpu {

// Its dmabufs have the length that was exported; the bytes of one are not to be read. Memory is
// independent of HostDevice's.
std::unique_ptr<MemoryDriver> OpenHostDriver();

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_HOST_DEVICE_HOST_DRIVER_H_
