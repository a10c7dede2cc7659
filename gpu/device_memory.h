// A GPU's memory, and what can be done with it: on a real GPU (gpu/cuda), or on one that stands in
// for it on machines without (gpu/host_device). Programs cannot tell the two apart.
//
//   Device ─Allocate─► DeviceMemory ─ExportDmabuf─► Dmabuf ─► a NIC registers it
//      └──OpenStream─► Stream: Fill, Copy, Verify, in order, while the host goes on
//
// Three things that hold on a GPU, and that host code gets wrong:
//   the host must not touch a device address         the stand-in's addresses trap
//   what a stream was given has not happened yet      until Synchronize says so
//   what a NIC has written is not yet visible         until FlushRemoteWrites says so

#ifndef DRYDOCK_GPU_DEVICE_MEMORY_H_
#define DRYDOCK_GPU_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/peer_memory.h"

namespace drydock::gpu {

// A dmabuf: a file descriptor that names memory of a device, for a NIC to register. Owns the
// descriptor; the memory lives as long as its DeviceMemory, and longer only while a NIC has it
// registered.
class Dmabuf {
 public:
  Dmabuf(int fd, std::uint64_t offset_bytes, std::size_t length_bytes)
      : fd_(fd), offset_bytes_(offset_bytes), length_bytes_(length_bytes) {}
  Dmabuf(Dmabuf&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        offset_bytes_(other.offset_bytes_),
        length_bytes_(other.length_bytes_) {}
  Dmabuf& operator=(Dmabuf other) noexcept {
    std::swap(fd_, other.fd_);
    offset_bytes_ = other.offset_bytes_;
    length_bytes_ = other.length_bytes_;
    return *this;
  }
  ~Dmabuf();

  int fd() const { return fd_; }
  // Where in the dmabuf the memory starts, and how much of it there is.
  std::uint64_t offset_bytes() const { return offset_bytes_; }
  std::size_t length_bytes() const { return length_bytes_; }
  fabric::DmabufHandle handle() const { return {fd_, offset_bytes_}; }

 private:
  int fd_;
  std::uint64_t offset_bytes_;
  std::size_t length_bytes_;
};

// How memory is allocated. CUDA: kPlain as by cudaMalloc; kVirtual by its virtual memory
// management, in whole granules, and fit for GPUDirect RDMA; kSegments the same, as two physical
// allocations in one range of addresses, which is how PyTorch's expandable segments are made.
enum class Allocation : std::uint8_t { kPlain, kVirtual, kSegments };

// Memory of a device. Its addresses mean nothing to the host. Ownership: the caller's; freed on
// destruction. A region that was registered by its address opens nothing from then on; one of a
// dmabuf keeps the bytes. REQUIRES then: no stream still uses it; its device lives; the calling
// thread may touch the worlds of the NICs that have it registered. Threads: as its device.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  // Byte 0. Aligned to 256 bytes at least. Constant, as the length is.
  virtual std::byte* address() const = 0;
  // How many bytes were asked for; the device may have allocated more.
  virtual std::size_t length_bytes() const = 0;

  // Names the whole of it by a dmabuf. kUnimplemented: this device, driver or kernel cannot; the
  // message says which. A simulated NIC finds the memory by it as long as this lives, or a region
  // has it.
  virtual absl::StatusOr<Dmabuf> ExportDmabuf() const = 0;
};

// What Verify found.
struct Mismatch {
  std::uint64_t wrong_words = 0;       // of 8 bytes
  std::uint64_t first_wrong_byte = 0;  // offset of the first such word; only where there is one

  bool none() const { return wrong_words == 0; }
};

// A piece of the pattern that Fill makes and Verify expects: gpu/pattern.h has the formula.
struct Pattern {
  std::uint64_t seed = 0;
  std::uint64_t first_word = 0;  // which word of the seed's stream the piece begins with
};

// Commands for a device, done one after the other, while the host goes on. What they name must
// live until Synchronize. Lengths and device addresses of patterns are multiples of 8 bytes.
// Errors: kInvalidArgument for a range that is no memory of the device, kInternal with the driver's
// words. Not thread-safe. Dies before its device; destruction waits for what is under way.
class Stream {
 public:
  virtual ~Stream() = default;

  // Writes a piece of the pattern, by the device itself; `pattern` is copied. kInvalidArgument also
  // for what is not whole words.
  virtual absl::Status Fill(std::byte* target, std::size_t length_bytes,
                            const Pattern& pattern) = 0;
  // Between two ranges of device memory: of this device, or of another one of the same kind.
  virtual absl::Status Copy(std::byte* target, const std::byte* source,
                            std::size_t length_bytes) = 0;
  // From host memory, which is read at some time between this call and the return of Synchronize:
  // until then it must neither change nor go.
  virtual absl::Status CopyFromHost(std::byte* target, const std::byte* host,
                                    std::size_t length_bytes) = 0;
  // To host memory, which is written at some time between this call and the return of Synchronize:
  // until then it must not be used nor go.
  virtual absl::Status CopyToHost(std::byte* host, const std::byte* source,
                                  std::size_t length_bytes) = 0;

  // True when all commands have been done. Makes progress.
  virtual absl::StatusOr<bool> Done() = 0;
  // Waits until all of them have been done.
  virtual absl::Status Synchronize() = 0;

  // Compares by the device itself, after all commands before, and waits for the result.
  virtual absl::StatusOr<Mismatch> Verify(const std::byte* source, std::size_t length_bytes,
                                          const Pattern& pattern) = 0;
};

// One device. Threads: one at a time, any of them. Outlives what came from it.
class Device {
 public:
  virtual ~Device() = default;

  // "cuda:0", "host": what --device takes.
  virtual std::string name() const = 0;
  // For a person: the model, the driver.
  virtual std::string description() const = 0;
  // MemoryRequest::kind of this device's memory. Constant, as the number is.
  virtual fabric::MemoryKind kind() const = 0;
  // MemoryRequest::device: the number among the devices of that kind, from 0.
  virtual int ordinal() const = 0;
  // "0000:53:00.0"; absent where nothing stands on a bus.
  virtual std::optional<std::string> pci_address() const = 0;

  // kInvalidArgument: no bytes. kResourceExhausted: the device has no room. The bytes are
  // undefined.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      std::size_t length_bytes, Allocation how = Allocation::kPlain) = 0;
  // Another stream, the caller's. Commands of two streams have no order, nor have those of a stream
  // and a NIC: a caller that needs one waits for the first with Synchronize. kInternal, with the
  // driver's words; kResourceExhausted: the device has no room for what a stream needs.
  virtual absl::StatusOr<std::unique_ptr<Stream>> OpenStream() = 0;

  // Everything that NICs had written when it was called is visible to commands after it. Also
  // returns failures that had no caller to report to: of copies that a simulated NIC asked for.
  virtual absl::Status FlushRemoteWrites() = 0;

  // How simulated NICs reach its memory: for sim::World::AttachDevice.
  virtual fabric::PeerMemoryClient& peer_memory() = 0;
};

// How a NIC is asked for this memory: by its dmabuf where one is given, else by address and kind.
// The descriptor must stay open until the request was served.
fabric::MemoryRequest RequestFor(const Device& device, const DeviceMemory& memory,
                                 const Dmabuf* dmabuf);

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_DEVICE_MEMORY_H_
