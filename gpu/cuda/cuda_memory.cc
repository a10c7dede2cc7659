#include "drydock/gpu/cuda/cuda_memory.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::gpu::cuda {
namespace {

// What the driver gives out in one piece anyway: an allocation of whole ones starts at a page of
// the host, as its dmabuf must.
constexpr std::size_t kGranule = std::size_t{2} << 20;

// More than any device has, and less than what rounding up could overflow.
constexpr std::size_t kMostBytes = std::size_t{1} << 56;

std::size_t RoundUp(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// What is allocated in this process: the driver itself tells of the current device's only.
struct Allocations {
  std::mutex mutex;
  std::map<std::uint64_t, std::weak_ptr<CudaMemory>> by_address;
};

Allocations& AllAllocations() {
  static auto* const kAllocations = new Allocations();
  return *kAllocations;
}

}  // namespace

absl::StatusOr<std::shared_ptr<CudaMemory>> CudaMemory::Make(std::shared_ptr<Context> context,
                                                             std::size_t length_bytes,
                                                             Allocation how) {
  if (length_bytes == 0 || length_bytes > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("allocate ", length_bytes, " B on cuda:", context->ordinal()));
  }
  const Context::Current current(*context);
  std::shared_ptr<CudaMemory> memory(
      new CudaMemory(context, length_bytes, RoundUp(length_bytes, kGranule)));
  const absl::Status allocated =
      how == Allocation::kPlain ? memory->AllocatePlain()
                                : memory->AllocateVirtual(how == Allocation::kSegments ? 2 : 1);
  if (!allocated.ok()) {
    return absl::Status(allocated.code(),
                        absl::StrCat("allocate ", length_bytes, " B on cuda:", context->ordinal(),
                                     ": ", allocated.message()));
  }
  const Driver& driver = context->driver();
  RETURN_IF_ERROR(driver.ToStatus(
      driver.cuStreamCreate(&memory->nic_stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  Allocations& all = AllAllocations();
  const std::lock_guard lock(all.mutex);
  all.by_address[memory->address_] = memory;
  return memory;
}

std::shared_ptr<CudaMemory> CudaMemory::Find(const std::byte* first, std::size_t length) {
  Allocations& all = AllAllocations();
  // Let go of after the lock: it may be the last reference by then, and the end of a memory takes
  // the lock.
  std::shared_ptr<CudaMemory> memory;
  const std::lock_guard lock(all.mutex);
  const auto after = all.by_address.upper_bound(reinterpret_cast<std::uint64_t>(first));
  if (after == all.by_address.begin()) return nullptr;
  memory = std::prev(after)->second.lock();
  return memory != nullptr && memory->Holds(first, length) ? memory : nullptr;
}

absl::Status CudaMemory::AllocatePlain() {
  const Driver& driver = context_->driver();
  RETURN_IF_ERROR(driver.ToStatus(driver.cuMemAlloc(&address_, mapped_bytes_), "cuMemAlloc"));
  plain_ = true;
  return absl::OkStatus();
}

absl::Status CudaMemory::AllocateVirtual(std::size_t segments) {
  const Driver& driver = context_->driver();
  if (context_->Attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) == 0) {
    return absl::UnimplementedError("the GPU has no virtual memory management");
  }
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = context_->ordinal();
  const bool rdma =
      context_->Attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED) != 0;
  properties.allocFlags.gpuDirectRDMACapable = rdma ? 1 : 0;
  std::size_t granule = 0;
  RETURN_IF_ERROR(driver.ToStatus(driver.cuMemGetAllocationGranularity(
                                      &granule, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
                                  "cuMemGetAllocationGranularity"));
  mapped_bytes_ = RoundUp(length_bytes_, granule * segments);
  RETURN_IF_ERROR(driver.ToStatus(driver.cuMemAddressReserve(&address_, mapped_bytes_, 0, 0, 0),
                                  "cuMemAddressReserve"));
  reserved_ = true;
  while (virtual_bytes_ < mapped_bytes_) {
    RETURN_IF_ERROR(Map(mapped_bytes_ / segments, properties));
  }
  return Share();
}

absl::Status CudaMemory::Map(std::size_t segment_bytes, const CUmemAllocationProp& properties) {
  const Driver& driver = context_->driver();
  CUmemGenericAllocationHandle handle = 0;
  RETURN_IF_ERROR(
      driver.ToStatus(driver.cuMemCreate(&handle, segment_bytes, &properties, 0), "cuMemCreate"));
  const absl::Status mapped = driver.ToStatus(
      driver.cuMemMap(address_ + virtual_bytes_, segment_bytes, 0, handle, 0), "cuMemMap");
  if (mapped.ok()) virtual_bytes_ += segment_bytes;
  driver.cuMemRelease(handle);  // the mapping keeps the memory
  return mapped;
}

absl::Status CudaMemory::Share() {
  const Driver& driver = context_->driver();
  int count = 0;
  RETURN_IF_ERROR(driver.ToStatus(driver.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  std::vector<CUmemAccessDesc> access;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice device = 0;
    int can = ordinal == context_->ordinal() ? 1 : 0;
    const bool asked = can == 1 || (driver.cuDeviceGet(&device, ordinal) == CUDA_SUCCESS &&
                                    driver.cuDeviceCanAccessPeer(
                                        &can, device, context_->device()) == CUDA_SUCCESS);
    if (!asked || can == 0) continue;
    CUmemAccessDesc& one = access.emplace_back();
    one.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    one.location.id = ordinal;
    one.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  return driver.ToStatus(
      driver.cuMemSetAccess(address_, mapped_bytes_, access.data(), access.size()),
      "cuMemSetAccess");
}

CudaMemory::~CudaMemory() {
  {
    Allocations& all = AllAllocations();
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_address.find(address_);
    // One that was never finished is not there; nor is one in whose place there is another.
    if (found != all.by_address.end() && found->second.expired()) all.by_address.erase(found);
  }
  const Context::Current current(*context_);
  const Driver& driver = context_->driver();
  if (nic_stream_ != nullptr) driver.cuStreamDestroy(nic_stream_);
  if (plain_) driver.cuMemFree(address_);
  if (virtual_bytes_ > 0) driver.cuMemUnmap(address_, virtual_bytes_);
  if (reserved_) driver.cuMemAddressFree(address_, mapped_bytes_);
}

bool CudaMemory::Holds(const std::byte* first, std::size_t length) const {
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(first) - address_;
  return offset <= length_bytes_ && length <= length_bytes_ - offset;
}

// ---- What NICs do ----

void CudaMemory::Finish(CUresult started) {
  const Driver& driver = context_->driver();
  context_->Remember(driver.ToStatus(started, "copy for a NIC"));
  context_->Remember(driver.ToStatus(driver.cuStreamSynchronize(nic_stream_), "copy for a NIC"));
}

void CudaMemory::Read(Way, std::byte* target, std::uint64_t address, std::uint64_t length) {
  const Context::Current current(*context_);
  Finish(context_->driver().cuMemcpyDtoHAsync(target, address, length, nic_stream_));
}

CudaMemory::Ticket CudaMemory::Write(Way, std::uint64_t address, const std::byte* source,
                                     std::uint64_t length) {
  const Context::Current current(*context_);
  Finish(context_->driver().cuMemcpyHtoDAsync(address, source, length, nic_stream_));
  return 0;
}

std::optional<CudaMemory::Ticket> CudaMemory::CopyFrom(Way, std::uint64_t address,
                                                       fabric::PeerMemory& source, Way,
                                                       std::uint64_t source_address,
                                                       std::uint64_t length) {
  auto* const other = dynamic_cast<CudaMemory*>(&source);
  if (other == nullptr) return std::nullopt;
  if (address == source_address) return 0;  // the driver copies nothing onto itself
  if (other->context_->ordinal() != context_->ordinal()) context_->EnablePeer(*other->context_);
  const Context::Current current(*context_);
  Finish(context_->driver().cuMemcpyAsync(address, source_address, length, nic_stream_));
  return 0;
}

// ---- Its dmabuf ----

absl::StatusOr<Dmabuf> CudaMemory::Export() {
  if (context_->Attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) == 0) {
    return absl::UnimplementedError(
        absl::StrCat("export dmabuf: cuda:", context_->ordinal(),
                     " has none: it takes the driver's open kernel modules"));
  }
  const Context::Current current(*context_);
  const Driver& driver = context_->driver();
  int fd = -1;
  RETURN_IF_ERROR(
      driver.ToStatus(driver.cuMemGetHandleForAddressRange(&fd, address_, mapped_bytes_,
                                                           CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
                      "export dmabuf: cuMemGetHandleForAddressRange"));
  Dmabuf dmabuf(fd, 0, length_bytes_);
  struct stat status {};
  if (fstat(fd, &status) == 0) dmabufs_.push_back({status.st_dev, status.st_ino});
  return dmabuf;
}

bool CudaMemory::IsDmabuf(dev_t device, ino_t inode) const {
  return std::any_of(dmabufs_.begin(), dmabufs_.end(), [&](const DmabufIdentity& one) {
    return one.device == device && one.inode == inode;
  });
}

}  // namespace drydock::gpu::cuda
