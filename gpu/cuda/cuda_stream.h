// Commands for an NVIDIA GPU.

#ifndef DRYDOCK_GPU_CUDA_CUDA_STREAM_H_
#define DRYDOCK_GPU_CUDA_CUDA_STREAM_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/gpu/cuda/context.h"
#include "drydock/gpu/device_memory.h"

namespace drydock::gpu::cuda {

// Not thread-safe, as Stream.
class CudaStream final : public Stream {
 public:
  // Loads the kernels too.
  static absl::StatusOr<std::unique_ptr<CudaStream>> Make(std::shared_ptr<Context> context);
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() override;

  absl::Status Fill(std::byte* target, std::size_t length_bytes, const Pattern& pattern) override;
  absl::Status Copy(std::byte* target, const std::byte* source, std::size_t length_bytes) override;
  absl::Status CopyFromHost(std::byte* target, const std::byte* host,
                            std::size_t length_bytes) override;
  absl::Status CopyToHost(std::byte* host, const std::byte* source,
                          std::size_t length_bytes) override;
  absl::StatusOr<bool> Done() override;
  absl::Status Synchronize() override;
  absl::StatusOr<Mismatch> Verify(const std::byte* source, std::size_t length_bytes,
                                  const Pattern& pattern) override;

 private:
  explicit CudaStream(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  absl::Status Open();
  // kInvalidArgument: not all of it is memory of a device. Memory of another one is made reachable.
  absl::Status Check(const std::byte* address, std::size_t length_bytes) const;
  absl::Status CheckWords(const std::byte* address, std::size_t length_bytes) const;
  // One thread for each word, and no more blocks than keep a GPU busy.
  absl::Status Launch(CUfunction kernel, std::uint64_t words, void** arguments);
  const Driver& driver() const { return context_->driver(); }

  const std::shared_ptr<Context> context_;
  CUstream stream_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction fill_ = nullptr;
  CUfunction verify_ = nullptr;
  CUdeviceptr result_ = 0;  // of Verify, on the device
};

}  // namespace drydock::gpu::cuda

#endif  // DRYDOCK_GPU_CUDA_CUDA_STREAM_H_
