// The kernels of pattern.cu, as the driver takes them: FillPattern, VerifyPattern.

#ifndef GPU_CUDA_PATTERN_PTX_H_
#define GPU_CUDA_PATTERN_PTX_H_

namespace gpu::cuda {

// PTX, ends with a zero byte. Made by the build.
extern const char kPatternPtx[];

}  // namespace gpu::cuda

#endif  // GPU_CUDA_PATTERN_PTX_H_
