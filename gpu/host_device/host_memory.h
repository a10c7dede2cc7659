// One allocation of the stand-in GPU: what it sees, and what NICs have written that it does not see
// yet.

#ifndef DRYDOCK_GPU_HOST_DEVICE_HOST_MEMORY_H_
#define DRYDOCK_GPU_HOST_DEVICE_HOST_MEMORY_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/peer_memory.h"

namespace drydock::gpu {

// Not thread-safe. Shared by the program that allocated it and the NICs that have it registered.
class HostMemory final : public fabric::PeerMemory {
 public:
  // kResourceExhausted: the host has no room.
  static absl::StatusOr<std::shared_ptr<HostMemory>> Make(std::size_t length_bytes,
                                                          std::chrono::nanoseconds delay);
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory() override;

  // --- fabric::PeerMemory: a NIC's side ---
  std::uint64_t address() const override { return reinterpret_cast<std::uint64_t>(reserved_); }
  std::uint64_t length_bytes() const override { return length_bytes_; }
  void Read(Way way, std::byte* target, std::uint64_t address, std::uint64_t length) override;
  Ticket Write(Way way, std::uint64_t address, const std::byte* source,
               std::uint64_t length) override;
  std::optional<Ticket> CopyFrom(Way, std::uint64_t, fabric::PeerMemory&, Way, std::uint64_t,
                                 std::uint64_t) override {
    return std::nullopt;
  }
  void MakeVisible(Ticket ticket) override;
  void Push(Way way) override { LandUpTo(last_ticket_, way); }
  std::chrono::nanoseconds visibility_delay() const override { return delay_; }

  // --- The device's side ---
  // What it sees at that address. REQUIRES: it lies in this memory.
  std::byte* Seen(const std::byte* address) const { return backing_ + (address - reserved_); }
  bool Holds(const std::byte* address, std::size_t length) const;
  // The allocation of any stand-in of this process that holds the range; null: there is none.
  // Thread-safe.
  static std::shared_ptr<HostMemory> Find(const std::byte* address, std::size_t length);
  // Everything that NICs have written becomes visible.
  void Flush();

  // --- Its dmabuf ---
  int fd() const { return fd_; }
  bool IsDmabuf(dev_t device, ino_t inode) const { return device_ == device && inode_ == inode; }

 private:
  struct Pending {
    Way way;
    std::uint64_t offset;
    std::vector<std::byte> bytes;
  };

  HostMemory(int fd, std::size_t length_bytes, std::size_t mapped_bytes, std::byte* reserved,
             std::byte* backing, std::chrono::nanoseconds delay);
  void Land(const Pending& write);
  // What came by that way, up to a ticket.
  void LandUpTo(Ticket last, Way way);

  const int fd_;
  const std::size_t length_bytes_;
  const std::size_t mapped_bytes_;
  std::byte* const reserved_;  // never readable, never writable
  std::byte* const backing_;
  const std::chrono::nanoseconds delay_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::map<Ticket, Pending> invisible_;
  Ticket last_ticket_ = 0;
};

}  // namespace drydock::gpu

#endif  // DRYDOCK_GPU_HOST_DEVICE_HOST_MEMORY_H_
