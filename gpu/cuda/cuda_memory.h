// One allocation of an NVIDIA GPU.

#ifndef DRYDOCK_GPU_CUDA_CUDA_MEMORY_H_
#define DRYDOCK_GPU_CUDA_CUDA_MEMORY_H_

#include <cuda.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/gpu/cuda/context.h"
#include "drydock/gpu/device_memory.h"

namespace drydock::gpu::cuda {

// Which file a dmabuf is.
struct DmabufIdentity {
  dev_t device;
  ino_t inode;
};

// Shared by the program that allocated it and the simulated NICs that have it registered. What
// those write, the GPU itself copies, and it has done so when the call returns. Threads: as its
// device.
class CudaMemory final : public fabric::PeerMemory {
 public:
  // kResourceExhausted: the GPU has no room. kUnimplemented: it has no virtual memory management.
  static absl::StatusOr<std::shared_ptr<CudaMemory>> Make(std::shared_ptr<Context> context,
                                                          std::size_t length_bytes, Allocation how);
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  ~CudaMemory() override;

  std::uint64_t address() const override { return address_; }
  std::uint64_t length_bytes() const override { return length_bytes_; }
  void Read(Way way, std::byte* target, std::uint64_t address, std::uint64_t length) override;
  Ticket Write(Way way, std::uint64_t address, const std::byte* source,
               std::uint64_t length) override;
  std::optional<Ticket> CopyFrom(Way way, std::uint64_t address, fabric::PeerMemory& source,
                                 Way source_way, std::uint64_t source_address,
                                 std::uint64_t length) override;
  void MakeVisible(Ticket) override {}
  void Push(Way) override {}
  std::chrono::nanoseconds visibility_delay() const override { return {}; }

  bool Holds(const std::byte* first, std::size_t length) const;

  // The allocation of any of this process's devices that holds the range; null: there is none.
  // Thread-safe.
  static std::shared_ptr<CudaMemory> Find(const std::byte* first, std::size_t length);

  // The whole allocation as another dmabuf, which it recognises from then on.
  absl::StatusOr<Dmabuf> Export();
  bool IsDmabuf(dev_t device, ino_t inode) const;

  Context& context() const { return *context_; }

 private:
  CudaMemory(std::shared_ptr<Context> context, std::size_t length_bytes, std::size_t mapped_bytes)
      : context_(std::move(context)), length_bytes_(length_bytes), mapped_bytes_(mapped_bytes) {}
  absl::Status AllocatePlain();
  // In so many physical allocations of equal length.
  absl::Status AllocateVirtual(std::size_t segments);
  absl::Status Map(std::size_t segment_bytes, const CUmemAllocationProp& properties);
  // Lets this device reach the mapping, and every other one that can.
  absl::Status Share();
  // A copy that was started, waited for.
  void Finish(CUresult started);

  const std::shared_ptr<Context> context_;
  const std::size_t length_bytes_;
  std::size_t mapped_bytes_;
  CUdeviceptr address_ = 0;
  bool plain_ = false;
  bool reserved_ = false;
  std::size_t virtual_bytes_ = 0;  // that are mapped, from the beginning
  CUstream nic_stream_ = nullptr;
  std::vector<DmabufIdentity> dmabufs_;  // that were exported
};

}  // namespace drydock::gpu::cuda

#endif  // DRYDOCK_GPU_CUDA_CUDA_MEMORY_H_
