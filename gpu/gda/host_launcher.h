// Kernels for the stand-in GPU: every thread of theirs is a thread of the host.

#ifndef DRYDOCK_GPU_GDA_HOST_LAUNCHER_H_
#define DRYDOCK_GPU_GDA_HOST_LAUNCHER_H_

#include <cstdint>
#include <memory>

#include "drydock/gpu/gda/launcher.h"

namespace drydock::gpu::gda {

// As Launcher. A grid has at most 256 threads. `stores_seed`: as OpenLauncher.
std::unique_ptr<Launcher> OpenHostLauncher(std::uint64_t stores_seed);

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_HOST_LAUNCHER_H_
