#include "drydock/gpu/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/gpu/cuda/context.h"
#include "drydock/gpu/cuda/cuda_memory.h"
#include "drydock/gpu/cuda/cuda_stream.h"
#include "drydock/gpu/registered_memory.h"

namespace drydock::gpu {
namespace cuda {
namespace {

class CudaDeviceMemory final : public DeviceMemory {
 public:
  explicit CudaDeviceMemory(std::shared_ptr<CudaMemory> memory) : memory_(std::move(memory)) {}
  ~CudaDeviceMemory() override { memory_->TellFreed(); }

  std::byte* address() const override { return reinterpret_cast<std::byte*>(memory_->address()); }
  std::size_t length_bytes() const override { return memory_->length_bytes(); }
  absl::StatusOr<Dmabuf> ExportDmabuf() const override { return memory_->Export(); }

 private:
  std::shared_ptr<CudaMemory> memory_;
};

class CudaDevice final : public Device, private fabric::PeerMemoryClient {
 public:
  explicit CudaDevice(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  std::string name() const override { return absl::StrCat("cuda:", context_->ordinal()); }
  std::string description() const override;
  fabric::MemoryKind kind() const override { return fabric::MemoryKind::kCuda; }
  int ordinal() const override { return context_->ordinal(); }
  std::optional<std::string> pci_address() const override;

  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(std::size_t length_bytes,
                                                         Allocation how) override {
    ASSIGN_OR_RETURN(std::shared_ptr<CudaMemory> memory,
                     CudaMemory::Make(context_, length_bytes, how));
    memories_.push_back(memory);
    return std::make_unique<CudaDeviceMemory>(std::move(memory));
  }
  absl::StatusOr<std::unique_ptr<Stream>> OpenStream() override {
    ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, CudaStream::Make(context_));
    return stream;
  }
  absl::Status FlushRemoteWrites() override;
  fabric::PeerMemoryClient& peer_memory() override { return *this; }

 private:
  int device() const override { return context_->ordinal(); }
  absl::StatusOr<std::shared_ptr<fabric::PeerMemory>> Pin(
      const fabric::MemoryRequest& request) override {
    ASSIGN_OR_RETURN(std::shared_ptr<fabric::PeerMemory> memory,
                     FindRegistered(request, Memories(), name()));
    return memory;
  }
  std::vector<std::shared_ptr<CudaMemory>> Memories();

  const std::shared_ptr<Context> context_;
  std::vector<std::weak_ptr<CudaMemory>> memories_;  // also those that are gone
};

std::string CudaDevice::description() const {
  const Driver& driver = context_->driver();
  std::array<char, 256> model{};
  driver.cuDeviceGetName(model.data(), static_cast<int>(model.size()) - 1, context_->device());
  int version = 0;
  driver.cuDriverGetVersion(&version);
  return absl::StrCat(model.data(), ", CUDA ", version / 1000, ".", version % 1000 / 10);
}

std::optional<std::string> CudaDevice::pci_address() const {
  std::array<char, 32> text{};
  const CUresult result = context_->driver().cuDeviceGetPCIBusId(
      text.data(), static_cast<int>(text.size()), context_->device());
  if (result != CUDA_SUCCESS) return std::nullopt;
  std::string address(text.data());
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return address;
}

absl::Status CudaDevice::FlushRemoteWrites() {
  RETURN_IF_ERROR(context_->TakeFailure());
  const Context::Current current(*context_);
  const Driver& driver = context_->driver();
  // A GPU without the call orders them when the host waits for it.
  const int options = context_->Attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
  if ((options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) == 0) {
    return driver.ToStatus(driver.cuCtxSynchronize(), "flush remote writes: cuCtxSynchronize");
  }
  return driver.ToStatus(
      driver.cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                        CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
      "cuFlushGPUDirectRDMAWrites");
}

std::vector<std::shared_ptr<CudaMemory>> CudaDevice::Memories() {
  std::erase_if(memories_, [](const auto& memory) { return memory.expired(); });
  std::vector<std::shared_ptr<CudaMemory>> live;
  for (const std::weak_ptr<CudaMemory>& memory : memories_) live.push_back(memory.lock());
  return live;
}

}  // namespace
}  // namespace cuda

absl::StatusOr<int> CountCudaDevices() {
  ASSIGN_OR_RETURN(const cuda::Driver* const driver, cuda::LoadDriver());
  int count = 0;
  RETURN_IF_ERROR(driver->ToStatus(driver->cuDeviceGetCount(&count), "cuDeviceGetCount"));
  return count;
}

absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int ordinal) {
  ASSIGN_OR_RETURN(std::shared_ptr<cuda::Context> context, cuda::Context::Retain(ordinal));
  return std::make_unique<cuda::CudaDevice>(std::move(context));
}

}  // namespace drydock::gpu
