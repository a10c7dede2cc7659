// Memory that several NICs may use: the program's own, and a peer's.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_MEMORY_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "drydock/fabric/async/transfer/descriptor.h"
#include "drydock/fabric/memory.h"

namespace drydock::fabric::async::transfer {

// Memory that was registered with every NIC of an engine (Engine::Register). Shared by all that
// need it to stay: the program, and transfers under way. Immutable; thread-safe but for its end.
class Memory {
 public:
  // `memory` keeps the bytes; null: they are kept elsewhere. `regions`: one for each NIC, of the
  // same range.
  Memory(std::shared_ptr<void> memory, std::vector<std::unique_ptr<MemoryRegion>> regions)
      : memory_(std::move(memory)), regions_(std::move(regions)) {
    for (const auto& region : regions_) keys_.push_back(region->local_key());
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Where it is. Of a device's memory these are addresses that the host must not touch.
  std::span<std::byte> bytes() const {
    return {regions_.front()->data(), regions_.front()->length_bytes()};
  }
  std::uint64_t local_key(std::size_t nic) const { return keys_[nic]; }

  // The descriptor that peers import.
  MemoryDescriptor descriptor() const {
    MemoryDescriptor descriptor;
    descriptor.length_bytes = bytes().size();
    for (const auto& region : regions_) descriptor.nics.push_back(region->remote());
    return descriptor;
  }

 private:
  std::shared_ptr<void> memory_;
  std::vector<std::unique_ptr<MemoryRegion>> regions_;  // go first
  std::vector<std::uint64_t> keys_;
};
using MemoryRef = std::shared_ptr<const Memory>;

// A peer's memory (Engine::Import). Immutable.
class RemoteMemory {
 public:
  RemoteMemory(std::uint32_t peer, MemoryDescriptor descriptor)
      : peer_(peer), descriptor_(std::move(descriptor)) {}

  // The engine's number for the peer.
  std::uint32_t peer() const { return peer_; }
  std::uint64_t length_bytes() const { return descriptor_.length_bytes; }
  // Byte 0, as the peer's NIC of this number names it.
  const RemoteBuffer& base(std::size_t nic) const { return descriptor_.nics[nic]; }

 private:
  const std::uint32_t peer_;
  const MemoryDescriptor descriptor_;
};
using RemoteRef = std::shared_ptr<const RemoteMemory>;

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_MEMORY_H_
