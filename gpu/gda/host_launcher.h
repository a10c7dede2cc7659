// Kernels for the stand-in GPU: every thread of theirs is a thread of the host.

#ifndef GPU_GDA_HOST_LAUNCHER_H_
#define GPU_GDA_HOST_LAUNCHER_H_

#include <cstdint>
#include <memory>

#include "gpu/gda/launcher.h"

namespace gpu::gda {

// As Launcher. A grid has at most 256 threads. `stores_seed`: as OpenLauncher.
std::unique_ptr<Launcher> OpenHostLauncher(std::uint64_t stores_seed);

}  // namespace gpu::gda

#endif  // GPU_GDA_HOST_LAUNCHER_H_
