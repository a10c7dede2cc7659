// The kernels of kernels.cu, as the driver takes them.

#ifndef GPU_GDA_KERNELS_PTX_H_
#define GPU_GDA_KERNELS_PTX_H_

namespace gpu::gda {

// PTX, ends with a zero byte. Made by the build.
extern const char kKernelsPtx[];

}  // namespace gpu::gda

#endif  // GPU_GDA_KERNELS_PTX_H_
