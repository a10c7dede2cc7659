// Registered memory for packets: bounce buffers of one MTU each.

#ifndef DRYDOCK_SIM_RDM_PACKET_POOL_H_
#define DRYDOCK_SIM_RDM_PACKET_POOL_H_

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "drydock/fabric/domain.h"
#include "drydock/fabric/memory.h"

namespace drydock::sim::rdm {

// Move-only. The device must be done with the memory before the pool goes.
class PacketPool {
 public:
  // Errors are the device's, from registering. Memory is taken from the system as it is touched.
  static absl::StatusOr<PacketPool> Open(fabric::Domain& device, std::size_t packets,
                                         std::size_t packet_bytes, fabric::Access access) {
    auto memory = std::make_unique_for_overwrite<std::byte[]>(packets * packet_bytes);
    auto region = device.RegisterMemory(
        {.data = memory.get(), .length_bytes = packets * packet_bytes, .access = access});
    if (!region.ok()) return region.status();
    return PacketPool(packets, packet_bytes, std::move(memory), *std::move(region));
  }

  std::size_t packets() const { return packets_; }
  std::size_t packet_bytes() const { return packet_bytes_; }

  // REQUIRES: index < packets().
  std::span<std::byte> bytes(std::size_t index) {
    return {memory_.get() + index * packet_bytes_, packet_bytes_};
  }
  // The first `length` bytes of a packet, for a work request.
  fabric::LocalBuffer buffer(std::size_t index, std::size_t length) const {
    return region_->Local(index * packet_bytes_, length);
  }

 private:
  PacketPool(std::size_t packets, std::size_t packet_bytes, std::unique_ptr<std::byte[]> memory,
             std::unique_ptr<fabric::MemoryRegion> region)
      : packets_(packets),
        packet_bytes_(packet_bytes),
        memory_(std::move(memory)),
        region_(std::move(region)) {}

  std::size_t packets_;
  std::size_t packet_bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::unique_ptr<fabric::MemoryRegion> region_;  // dies before the memory
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_PACKET_POOL_H_
