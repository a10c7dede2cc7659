// The kernels of kernels.cu, as the driver takes them.

#ifndef DRYDOCK_GPU_GDA_KERNELS_PTX_H_
#define DRYDOCK_GPU_GDA_KERNELS_PTX_H_

namespace drydock::gpu::gda {

// PTX, ends with a zero byte. Made by the build.
extern const char kKernelsPtx[];

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_KERNELS_PTX_H_
