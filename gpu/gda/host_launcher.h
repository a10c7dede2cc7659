// Kernels for the stand-in GPU: every thread of theirs is a thread of the host.

#ifndef GPU_GDA_HOST_LAUNCHER_H_
#define GPU_GDA_HOST_LAUNCHER_H_

#include <memory>

#include "gpu/gda/launcher.h"

namespace gpu::gda {

// As Launcher. A grid has at most 256 threads.
std::unique_ptr<Launcher> OpenHostLauncher();

}  // namespace gpu::gda

#endif  // GPU_GDA_HOST_LAUNCHER_H_
