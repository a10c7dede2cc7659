#include "drydock/gpu/gda/cuda_launcher.h"

#include <cuda.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/gpu/cuda/context.h"
#include "drydock/gpu/cuda/driver.h"
#include "drydock/gpu/gda/kernels_ptx.h"

namespace drydock::gpu::gda {
namespace {

using cuda::Context;
using cuda::Driver;

// In the order of Kernel.
constexpr std::array<const char*, kKernels> kNames = {"GdaPut",
                                                      "GdaWriteLoop",
                                                      "GdaTeamWrites",
                                                      "GdaBlockWrites",
                                                      "GdaFillBytes",
                                                      "GdaCountWrong",
                                                      "GdaBareLoop",
                                                      "GdaPortPuts",
                                                      "GdaPingPong",
                                                      "GdaMoeDispatch",
                                                      "GdaMoeCombine",
                                                      "GdaMoeDispatchCopies",
                                                      "GdaMoeCombineCopies"};

class CudaLauncher final : public Launcher {
 public:
  explicit CudaLauncher(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~CudaLauncher() override;

  absl::Status Open();

  absl::StatusOr<void*> Map(const void* host, std::size_t length, MappedMemory what) override;
  void Unmap() override;
  absl::StatusOr<SharedMemory> AllocateShared(std::size_t length) override;
  absl::StatusOr<void*> AllocateScratch(std::size_t length) override;
  absl::StatusOr<unsigned char*> Reach(const std::byte* address, std::size_t) override {
    return reinterpret_cast<unsigned char*>(const_cast<std::byte*>(address));
  }
  absl::Status ReachPeer(Launcher& other) override;
  absl::Status Launch(Kernel kernel, Grid grid, const void* arguments) override;
  absl::Status Wait() override;

 private:
  struct Pages {
    std::uint64_t end;
    std::uint64_t device;
  };
  const Driver& driver() const { return context_->driver(); }
  absl::Status Register(std::uint64_t begin, std::uint64_t end, MappedMemory what);

  const std::shared_ptr<Context> context_;
  CUstream stream_ = nullptr;
  CUmodule module_ = nullptr;
  std::array<CUfunction, kKernels> kernels_{};
  std::map<std::uint64_t, Pages> mapped_;  // by address on the host
  std::vector<void*> shared_;
  std::vector<CUdeviceptr> scratch_;
  bool running_ = false;
};

absl::Status CudaLauncher::Open() {
  const Context::Current current(*context_);
  const Driver& d = driver();
  RETURN_IF_ERROR(d.ToStatus(d.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  RETURN_IF_ERROR(d.ToStatus(d.cuModuleLoadData(&module_, kKernelsPtx), "cuModuleLoadData"));
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    RETURN_IF_ERROR(d.ToStatus(d.cuModuleGetFunction(&kernels_[i], module_, kNames[i]),
                               absl::StrCat("cuModuleGetFunction(", kNames[i], ")")));
  }
  return absl::OkStatus();
}

CudaLauncher::~CudaLauncher() {
  const Context::Current current(*context_);
  if (stream_ != nullptr) {
    driver().cuStreamSynchronize(stream_);
    driver().cuStreamDestroy(stream_);
  }
  Unmap();
  for (void* const memory : shared_) driver().cuMemFreeHost(memory);
  for (const CUdeviceptr memory : scratch_) driver().cuMemFree(memory);
  if (module_ != nullptr) driver().cuModuleUnload(module_);
}

absl::Status CudaLauncher::Register(std::uint64_t begin, std::uint64_t end, MappedMemory what) {
  const Driver& d = driver();
  unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
  if (what == MappedMemory::kIo) flags |= CU_MEMHOSTREGISTER_IOMEMORY;
  void* const host = reinterpret_cast<void*>(begin);
  const CUresult result = d.cuMemHostRegister(host, end - begin, flags);
  absl::Status status =
      d.ToStatus(result, absl::StrCat("cuMemHostRegister of ", end - begin, " B",
                                      what == MappedMemory::kIo ? " of the NIC's memory" : ""));
  if (!status.ok()) {
    if (what == MappedMemory::kHost) return status;
    return absl::FailedPreconditionError(
        absl::StrCat(status.message(),
                     "; the driver maps a NIC's memory only with the module parameter "
                     "NVreg_RegistryDwords=\"PeerMappingOverride=1;\", or for root"));
  }
  CUdeviceptr device = 0;
  status = d.ToStatus(d.cuMemHostGetDevicePointer(&device, host, 0), "cuMemHostGetDevicePointer");
  if (!status.ok()) {
    d.cuMemHostUnregister(host);
    return status;
  }
  mapped_[begin] = {end, device};
  return absl::OkStatus();
}

absl::StatusOr<void*> CudaLauncher::Map(const void* host, std::size_t length, MappedMemory what) {
  const Context::Current current(*context_);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uint64_t>(host);
  const std::uint64_t begin = address / page * page;
  const std::uint64_t end = (address + length + page - 1) / page * page;
  auto after = mapped_.upper_bound(begin);
  if (after == mapped_.begin() || std::prev(after)->second.end < end) {
    RETURN_IF_ERROR(Register(begin, end, what));
    after = mapped_.upper_bound(begin);
  }
  const auto& [first, pages] = *std::prev(after);
  return reinterpret_cast<void*>(pages.device + (address - first));
}

void CudaLauncher::Unmap() {
  const Context::Current current(*context_);
  for (const auto& [begin, pages] : mapped_) {
    driver().cuMemHostUnregister(reinterpret_cast<void*>(begin));
  }
  mapped_.clear();
}

absl::StatusOr<SharedMemory> CudaLauncher::AllocateShared(std::size_t length) {
  const Context::Current current(*context_);
  const Driver& d = driver();
  SharedMemory memory;
  RETURN_IF_ERROR(d.ToStatus(
      d.cuMemHostAlloc(&memory.host, length, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
      "cuMemHostAlloc"));
  shared_.push_back(memory.host);
  std::fill_n(static_cast<std::byte*>(memory.host), length, std::byte{0});
  CUdeviceptr device = 0;
  RETURN_IF_ERROR(d.ToStatus(d.cuMemHostGetDevicePointer(&device, memory.host, 0),
                             "cuMemHostGetDevicePointer"));
  memory.device = reinterpret_cast<void*>(device);
  return memory;
}

absl::StatusOr<void*> CudaLauncher::AllocateScratch(std::size_t length) {
  const Context::Current current(*context_);
  const Driver& d = driver();
  const std::size_t words = (length + 3) / 4;
  CUdeviceptr memory = 0;
  RETURN_IF_ERROR(d.ToStatus(d.cuMemAlloc(&memory, 4 * words), "cuMemAlloc"));
  scratch_.push_back(memory);
  RETURN_IF_ERROR(d.ToStatus(d.cuMemsetD32Async(memory, 0, words, stream_), "cuMemsetD32Async"));
  RETURN_IF_ERROR(d.ToStatus(d.cuStreamSynchronize(stream_), "cuStreamSynchronize"));
  return reinterpret_cast<void*>(memory);
}

absl::Status CudaLauncher::ReachPeer(Launcher& other) {
  auto* const peer = dynamic_cast<CudaLauncher*>(&other);
  if (peer == nullptr) return absl::FailedPreconditionError("reach a peer: it is no GPU");
  if (peer->context_->ordinal() == context_->ordinal()) return absl::OkStatus();
  int can = 0;
  RETURN_IF_ERROR(driver().ToStatus(
      driver().cuDeviceCanAccessPeer(&can, context_->device(), peer->context_->device()),
      "cuDeviceCanAccessPeer"));
  if (can == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("reach a peer: cuda:", context_->ordinal(),
                     " does not reach the memory of cuda:", peer->context_->ordinal()));
  }
  context_->EnablePeer(*peer->context_);
  return absl::OkStatus();
}

absl::Status CudaLauncher::Launch(Kernel kernel, Grid grid, const void* arguments) {
  if (running_) return absl::FailedPreconditionError("launch: a kernel is running");
  const Context::Current current(*context_);
  const auto index = static_cast<std::size_t>(kernel);
  void* parameters[] = {const_cast<void*>(arguments)};
  RETURN_IF_ERROR(
      driver().ToStatus(driver().cuLaunchKernel(kernels_[index], grid.blocks, 1, 1, grid.threads, 1,
                                                1, 0, stream_, parameters, nullptr),
                        absl::StrCat("launch ", kNames[index])));
  running_ = true;
  return absl::OkStatus();
}

absl::Status CudaLauncher::Wait() {
  if (!std::exchange(running_, false)) return absl::OkStatus();
  const Context::Current current(*context_);
  return driver().ToStatus(driver().cuStreamSynchronize(stream_), "wait for a kernel");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Launcher>> OpenCudaLauncher(int ordinal) {
  ASSIGN_OR_RETURN(std::shared_ptr<Context> context, Context::Retain(ordinal));
  auto launcher = std::make_unique<CudaLauncher>(std::move(context));
  RETURN_IF_ERROR(launcher->Open());
  return launcher;
}

}  // namespace drydock::gpu::gda
