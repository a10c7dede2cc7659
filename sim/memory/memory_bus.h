// Finds the memory at an address, host memory or memory of a device that only the device may touch,
// and copies between the two for a NIC.
//
//   host ◄──► host      memmove
//   host ◄──► device    the device's own copies (fabric/peer_memory.h)
//   device ◄► device    the same, or through the host where the two cannot reach each other
//
// The device does not yet see bytes that a NIC has written to it: they become visible by an event
// of their own, later than the completion that the host may have read by then.

#ifndef DRYDOCK_SIM_MEMORY_MEMORY_BUS_H_
#define DRYDOCK_SIM_MEMORY_MEMORY_BUS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/peer_memory.h"
#include "drydock/sim/events/actor.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/events/timeline.h"
#include "drydock/sim/memory/poison.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world. Costs a comparison while no device memory is registered.
class MemoryBus final : public Actor {
 public:
  // The timeline outlives it.
  explicit MemoryBus(Timeline& timeline) : timeline_(timeline) {}
  MemoryBus(const MemoryBus&) = delete;
  MemoryBus& operator=(const MemoryBus&) = delete;

  // Memory of this device may be registered from now on. It outlives the bus, and is the only one
  // of its kind and number.
  void Attach(fabric::PeerMemoryClient& device);

  // The memory of a request whose kind is not kSystem. The bus knows it as long as the result is
  // held. kInvalidArgument: no such device, or the device refuses.
  absl::StatusOr<std::shared_ptr<fabric::PeerMemory>> Pin(const fabric::MemoryRequest& request);

  // From now on the host memory in this range is of pages of so many bytes, a power of two: those
  // that a program would have mapped on an instance (hugetlbfs, MAP_HUGETLB), which a laptop need
  // not have. Earlier calls for overlapping ranges are forgotten; 0 only forgets: for memory that
  // is given back. A NIC counts by it the pages of later registrations. The bytes are not looked
  // at.
  void SetPages(std::span<const std::byte> memory, std::uint64_t page_bytes);
  // Bytes of the smallest page in the range; 0 where something in it is not known.
  std::uint64_t PageBytes(std::uint64_t address, std::uint64_t length_bytes) const;

  // The memory that a region held may be gone: to be called when one was closed.
  void Forget() {
    std::erase_if(ranges_, [](const auto& range) { return range.second.expired(); });
  }
  // No byte of device memory is registered.
  bool HostOnly() const { return ranges_.empty(); }
  bool IsHost(std::uint64_t address) const { return HostOnly() || Find(address) == nullptr; }

  // Which NIC writes the target, and which reads the source (NicState::index). Matters for memory
  // of devices only: a read pushes writes that came by its own NIC, and meets no others that the
  // device does not see yet.
  struct Ways {
    fabric::PeerMemory::Way into = fabric::PeerMemory::kEveryWay;
    fabric::PeerMemory::Way from = fabric::PeerMemory::kEveryWay;
  };
  // Each range lies within one registration, or is the host's.
  void Copy(std::byte* target, const std::byte* source, std::uint64_t length, Ways ways) {
    if (HostOnly()) [[likely]] {
      return DeviceCopy(target, source, length);
    }
    CopyAcross(target, source, length, ways);
  }

  // The bytes at `address` for the host to look at: they themselves, or a copy in `scratch`.
  const std::byte* View(std::uint64_t address, std::uint64_t length,
                        std::vector<std::byte>& scratch) const;

  // --- Actor ---
  std::uint32_t index() const override { return kNoActor; }
  // The device sees the write with number `event.b`. Its memory may be gone.
  void OnEvent(const Event& event) override;

 private:
  using Held = std::weak_ptr<fabric::PeerMemory>;
  struct Pages {
    std::uint64_t end = 0;
    std::uint64_t page_bytes = 0;
  };

  std::shared_ptr<fabric::PeerMemory> Find(std::uint64_t address) const;
  void CopyAcross(std::byte* target, const std::byte* source, std::uint64_t length, Ways ways);
  void Await(const std::shared_ptr<fabric::PeerMemory>& memory, fabric::PeerMemory::Ticket ticket);

  Timeline& timeline_;
  std::vector<fabric::PeerMemoryClient*> devices_;
  std::map<std::uint64_t, Held> ranges_;  // by address
  std::map<std::uint64_t, Pages> pages_;  // by first address; ranges do not overlap
  std::map<std::uint64_t, std::pair<Held, fabric::PeerMemory::Ticket>> invisible_;
  std::uint64_t next_number_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_MEMORY_MEMORY_BUS_H_
