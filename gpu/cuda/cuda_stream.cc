#include "drydock/gpu/cuda/cuda_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_format.h"
#include "drydock/coro/status_macros.h"
#include "drydock/gpu/cuda/cuda_memory.h"
#include "drydock/gpu/cuda/pattern_ptx.h"

namespace drydock::gpu::cuda {
namespace {

CUdeviceptr PointerTo(const std::byte* address) { return reinterpret_cast<CUdeviceptr>(address); }

}  // namespace

absl::StatusOr<std::unique_ptr<CudaStream>> CudaStream::Make(std::shared_ptr<Context> context) {
  std::unique_ptr<CudaStream> stream(new CudaStream(std::move(context)));
  RETURN_IF_ERROR(stream->Open());
  return stream;
}

absl::Status CudaStream::Open() {
  const Context::Current current(*context_);
  const Driver& d = driver();
  RETURN_IF_ERROR(d.ToStatus(d.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  RETURN_IF_ERROR(d.ToStatus(d.cuModuleLoadData(&module_, kPatternPtx), "cuModuleLoadData"));
  RETURN_IF_ERROR(d.ToStatus(d.cuModuleGetFunction(&fill_, module_, "FillPattern"),
                             "cuModuleGetFunction(FillPattern)"));
  RETURN_IF_ERROR(d.ToStatus(d.cuModuleGetFunction(&verify_, module_, "VerifyPattern"),
                             "cuModuleGetFunction(VerifyPattern)"));
  return d.ToStatus(d.cuMemAlloc(&result_, 2 * sizeof(std::uint64_t)), "cuMemAlloc");
}

CudaStream::~CudaStream() {
  const Context::Current current(*context_);
  if (stream_ != nullptr) {
    driver().cuStreamSynchronize(stream_);
    driver().cuStreamDestroy(stream_);
  }
  if (result_ != 0) driver().cuMemFree(result_);
  if (module_ != nullptr) driver().cuModuleUnload(module_);
}

absl::Status CudaStream::Check(const std::byte* address, std::size_t length_bytes) const {
  const std::shared_ptr<CudaMemory> memory = CudaMemory::Find(address, length_bytes);
  if (memory == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%u bytes at %p are not memory of a CUDA device", length_bytes,
                        static_cast<const void*>(address)));
  }
  if (memory->context().ordinal() != context_->ordinal()) context_->EnablePeer(memory->context());
  return absl::OkStatus();
}

absl::Status CudaStream::CheckWords(const std::byte* address, std::size_t length_bytes) const {
  if (length_bytes % 8 != 0 || PointerTo(address) % 8 != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("pattern of %u bytes at %p: not whole words of 8 bytes", length_bytes,
                        static_cast<const void*>(address)));
  }
  return Check(address, length_bytes);
}

absl::Status CudaStream::Launch(CUfunction kernel, std::uint64_t words, void** arguments) {
  constexpr unsigned kThreads = 256;
  constexpr std::uint64_t kMostBlocks = 4096;
  const auto blocks = static_cast<unsigned>(
      std::clamp<std::uint64_t>((words + kThreads - 1) / kThreads, 1, kMostBlocks));
  return driver().ToStatus(
      driver().cuLaunchKernel(kernel, blocks, 1, 1, kThreads, 1, 1, 0, stream_, arguments, nullptr),
      "cuLaunchKernel");
}

absl::Status CudaStream::Fill(std::byte* target, std::size_t length_bytes, const Pattern& pattern) {
  const Context::Current current(*context_);
  RETURN_IF_ERROR(CheckWords(target, length_bytes));
  CUdeviceptr to = PointerTo(target);
  std::uint64_t words = length_bytes / 8;
  std::uint64_t seed = pattern.seed;
  std::uint64_t first = pattern.first_word;
  void* arguments[] = {&to, &words, &seed, &first};
  return Launch(fill_, words, arguments);
}

absl::Status CudaStream::Copy(std::byte* target, const std::byte* source,
                              std::size_t length_bytes) {
  const Context::Current current(*context_);
  RETURN_IF_ERROR(Check(target, length_bytes));
  RETURN_IF_ERROR(Check(source, length_bytes));
  return driver().ToStatus(
      driver().cuMemcpyAsync(PointerTo(target), PointerTo(source), length_bytes, stream_),
      "cuMemcpyAsync");
}

absl::Status CudaStream::CopyFromHost(std::byte* target, const std::byte* host,
                                      std::size_t length_bytes) {
  const Context::Current current(*context_);
  RETURN_IF_ERROR(Check(target, length_bytes));
  return driver().ToStatus(
      driver().cuMemcpyHtoDAsync(PointerTo(target), host, length_bytes, stream_),
      "cuMemcpyHtoDAsync");
}

absl::Status CudaStream::CopyToHost(std::byte* host, const std::byte* source,
                                    std::size_t length_bytes) {
  const Context::Current current(*context_);
  RETURN_IF_ERROR(Check(source, length_bytes));
  return driver().ToStatus(
      driver().cuMemcpyDtoHAsync(host, PointerTo(source), length_bytes, stream_),
      "cuMemcpyDtoHAsync");
}

absl::StatusOr<bool> CudaStream::Done() {
  const Context::Current current(*context_);
  const CUresult result = driver().cuStreamQuery(stream_);
  if (result == CUDA_ERROR_NOT_READY) return false;
  RETURN_IF_ERROR(driver().ToStatus(result, "cuStreamQuery"));
  return true;
}

absl::Status CudaStream::Synchronize() {
  const Context::Current current(*context_);
  return driver().ToStatus(driver().cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

absl::StatusOr<Mismatch> CudaStream::Verify(const std::byte* source, std::size_t length_bytes,
                                            const Pattern& pattern) {
  const Context::Current current(*context_);
  const Driver& d = driver();
  RETURN_IF_ERROR(CheckWords(source, length_bytes));
  // No wrong word yet; the least index of one is the greatest there is.
  std::array<std::uint64_t, 2> found = {0, UINT64_MAX};
  RETURN_IF_ERROR(d.ToStatus(d.cuMemsetD32Async(result_, 0, 2, stream_), "cuMemsetD32Async"));
  RETURN_IF_ERROR(d.ToStatus(d.cuMemsetD32Async(result_ + sizeof(found[0]), UINT32_MAX, 2, stream_),
                             "cuMemsetD32Async"));
  CUdeviceptr from = PointerTo(source);
  std::uint64_t words = length_bytes / 8;
  std::uint64_t seed = pattern.seed;
  std::uint64_t first = pattern.first_word;
  CUdeviceptr result = result_;
  void* arguments[] = {&from, &words, &seed, &first, &result};
  RETURN_IF_ERROR(Launch(verify_, words, arguments));
  RETURN_IF_ERROR(d.ToStatus(d.cuMemcpyDtoHAsync(found.data(), result_, sizeof(found), stream_),
                             "cuMemcpyDtoHAsync"));
  RETURN_IF_ERROR(d.ToStatus(d.cuStreamSynchronize(stream_), "verify: cuStreamSynchronize"));
  Mismatch mismatch;
  mismatch.wrong_words = found[0];
  if (found[0] != 0) mismatch.first_wrong_byte = 8 * found[1];
  return mismatch;
}

}  // namespace drydock::gpu::cuda
