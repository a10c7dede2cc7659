// Launches kernels on a device and maps memory for them: on a real GPU, or on the stand-in, which
// runs kernels on host threads.

#ifndef DRYDOCK_GPU_GDA_LAUNCHER_H_
#define DRYDOCK_GPU_GDA_LAUNCHER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/gpu/device_memory.h"
#include "drydock/gpu/gda/grid.h"
#include "drydock/gpu/gda/kernels.h"
#include "drydock/gpu/gda/queue/queue.h"

namespace drydock::gpu::gda {

// The kind of memory at a host address that is mapped for a device.
enum class MappedMemory : std::uint8_t {
  kHost,  // memory of the host
  kIo,    // a NIC's own, mapped into this process: rings and doorbells in a BAR
};

// Memory that host and device share. Zero at first.
struct SharedMemory {
  void* host = nullptr;
  void* device = nullptr;

  template <typename T>
  T* on_host() const {
    return static_cast<T*>(host);
  }
  template <typename T>
  T* on_device() const {
    return static_cast<T*>(device);
  }
};

// Launches kernels on one device, one at a time. Mappings last until Unmap, allocations until the
// launcher is destroyed. Ownership: the caller's; the device and the mapped memory must outlive it.
// Threads: one at a time. Errors contain the driver's message.
class Launcher {
 public:
  virtual ~Launcher() = default;

  // Maps `length` bytes of host memory at `host`, and returns their address for kernels. Maps whole
  // pages, each at most once. kFailedPrecondition, kUnimplemented: the driver refuses; the message
  // says what it needs.
  virtual absl::StatusOr<void*> Map(const void* host, std::size_t length, MappedMemory what) = 0;
  // Undoes every Map. REQUIRES: no kernel runs.
  virtual void Unmap() = 0;

  // Memory that kernels and the host use at once, `length` bytes of it. The launcher frees it. The
  // driver's error: nothing was allocated.
  virtual absl::StatusOr<SharedMemory> AllocateShared(std::size_t length) = 0;
  // For kernels alone, zero at first.
  virtual absl::StatusOr<void*> AllocateScratch(std::size_t length) = 0;
  // Where kernels find memory of this device (gpu::DeviceMemory). kInvalidArgument: it is none.
  virtual absl::StatusOr<unsigned char*> Reach(const std::byte* address, std::size_t length) = 0;
  // Kernels of this device may use memory that `other`, of the same kind, allocated or reaches, at
  // the same addresses. kFailedPrecondition: the two devices do not reach each other.
  virtual absl::Status ReachPeer(Launcher& other) = 0;

  // Begins a kernel; `arguments`, which are copied, are the struct that kernels.h names for it.
  // kFailedPrecondition: one is running.
  virtual absl::Status Launch(Kernel kernel, Grid grid, const void* arguments) = 0;
  // Waits for it. What it stored is visible to the host afterwards.
  virtual absl::Status Wait() = 0;
};

// For any device that gpu/host_device or gpu/cuda opened. `stores_seed`: which stores of payload by
// a stand-in's threads linger (lingering_stores.h); 0: none. kUnimplemented: built without CUDA.
absl::StatusOr<std::unique_ptr<Launcher>> OpenLauncher(Device& device,
                                                       std::uint64_t stores_seed = 0);

// One piece of a queue, and where a device sees it, or why not.
struct MappedPiece {
  const char* what;  // "the send ring"
  std::size_t bytes;
  const void* host;
  void* device;  // null: it was not mapped
  absl::Status status;
};

// Maps every piece of `view`, and replaces its host addresses by the device's. `nic`: the kind of
// memory that the send ring and the doorbells are in; the other rings are in host memory.
std::vector<MappedPiece> MapPieces(Launcher& launcher, QueueView& view, MappedMemory nic);

// The same, or what was wrong with the first piece that was not mapped.
absl::StatusOr<QueueView> MapQueue(Launcher& launcher, const QueueView& view, MappedMemory nic);

// The number of bytes that `kernel` takes as arguments.
std::size_t ArgumentBytes(Kernel kernel);

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_LAUNCHER_H_
