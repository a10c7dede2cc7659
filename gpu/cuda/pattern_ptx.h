// The kernels of pattern.cu, as the driver takes them: FillPattern, VerifyPattern.

#ifndef DRYDOCK_GPU_CUDA_PATTERN_PTX_H_
#define DRYDOCK_GPU_CUDA_PATTERN_PTX_H_

namespace drydock::gpu::cuda {

// PTX, ends with a zero byte. Made by the build.
extern const char kPatternPtx[];

}  // namespace drydock::gpu::cuda

#endif  // DRYDOCK_GPU_CUDA_PATTERN_PTX_H_
