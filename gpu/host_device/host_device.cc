#include "drydock/gpu/host_device/host_device.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/gpu/host_device/current_device.h"
#include "drydock/gpu/host_device/host_memory.h"
#include "drydock/gpu/host_device/host_stream.h"
#include "drydock/gpu/registered_memory.h"

namespace drydock::gpu {
namespace {

// Whether memory of the device may be registered by its address on the calling thread.
absl::Status CheckContext(const HostDeviceOptions& device) {
  const std::optional<int> current = CurrentHostDevice::OnThisThread();
  if (!device.needs_context || current == device.ordinal) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("register memory: operation not supported: on this thread ",
                   current.has_value() ? absl::StrCat("device ", *current, " is current")
                                       : "no device is current",
                   ", and the memory is of device ", device.ordinal));
}

class HostDeviceMemory final : public DeviceMemory {
 public:
  explicit HostDeviceMemory(std::shared_ptr<HostMemory> memory) : memory_(std::move(memory)) {}
  ~HostDeviceMemory() override { memory_->TellFreed(); }

  std::byte* address() const override { return reinterpret_cast<std::byte*>(memory_->address()); }
  std::size_t length_bytes() const override { return memory_->length_bytes(); }
  absl::StatusOr<Dmabuf> ExportDmabuf() const override {
    const int fd = fcntl(memory_->fd(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
      return absl::ResourceExhaustedError(absl::StrCat("export dmabuf: ", std::strerror(errno)));
    }
    return Dmabuf(fd, 0, memory_->length_bytes());
  }

 private:
  std::shared_ptr<HostMemory> memory_;
};

class HostDevice final : public Device, private fabric::PeerMemoryClient {
 public:
  explicit HostDevice(const HostDeviceOptions& options) : options_(options) {}

  std::string name() const override {
    return options_.ordinal == 0 ? "host" : absl::StrCat("host:", options_.ordinal);
  }
  std::string description() const override { return "stand-in GPU in host memory"; }
  fabric::MemoryKind kind() const override { return fabric::MemoryKind::kStandIn; }
  int ordinal() const override { return options_.ordinal; }
  std::optional<std::string> pci_address() const override { return std::nullopt; }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(std::size_t length_bytes,
                                                         Allocation how) override;
  absl::StatusOr<std::unique_ptr<Stream>> OpenStream() override {
    return std::make_unique<HostStream>();
  }
  absl::Status FlushRemoteWrites() override {
    for (const std::shared_ptr<HostMemory>& memory : Memories()) memory->Flush();
    return absl::OkStatus();
  }
  fabric::PeerMemoryClient& peer_memory() override { return *this; }

 private:
  int device() const override { return options_.ordinal; }
  absl::StatusOr<std::shared_ptr<fabric::PeerMemory>> Pin(
      const fabric::MemoryRequest& request) override {
    if (!request.dmabuf.has_value()) RETURN_IF_ERROR(CheckContext(options_));
    ASSIGN_OR_RETURN(std::shared_ptr<fabric::PeerMemory> memory,
                     FindRegistered(request, Memories(), name()));
    return memory;
  }

  std::vector<std::shared_ptr<HostMemory>> Memories();

  const HostDeviceOptions options_;
  std::vector<std::weak_ptr<HostMemory>> memories_;  // also those that are gone
};

absl::StatusOr<std::unique_ptr<DeviceMemory>> HostDevice::Allocate(std::size_t length_bytes,
                                                                   Allocation) {
  if (length_bytes == 0) return absl::InvalidArgumentError("allocate 0 B on the stand-in GPU");
  std::size_t left = options_.memory_bytes;
  for (const std::shared_ptr<HostMemory>& memory : Memories()) {
    if (!memory->freed()) left -= memory->length_bytes();
  }
  if (length_bytes > left) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "allocate ", length_bytes, " B on the stand-in GPU: it has ", left, " B left"));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<HostMemory> memory,
                   HostMemory::Make(length_bytes, options_.visibility_delay));
  memories_.push_back(memory);
  return std::make_unique<HostDeviceMemory>(std::move(memory));
}

std::vector<std::shared_ptr<HostMemory>> HostDevice::Memories() {
  std::erase_if(memories_, [](const auto& memory) { return memory.expired(); });
  std::vector<std::shared_ptr<HostMemory>> live;
  for (const std::weak_ptr<HostMemory>& memory : memories_) live.push_back(memory.lock());
  return live;
}

}  // namespace

std::unique_ptr<Device> OpenHostDevice(const HostDeviceOptions& options) {
  return std::make_unique<HostDevice>(options);
}

}  // namespace drydock::gpu
