// Memory that is a device's and not the host's, as a NIC reaches it: over PCIe, past the host's
// caches. What a Linux kernel calls a peer memory client.
//
//   NIC ──► PeerMemory ──► the device's memory
//              │  a write has arrived, and the host may be told of it;
//              └► later the device sees it: MakeVisible, or a flush by the device's owner
//
// A real NIC needs none of this; a simulated NIC asks the owner of the memory to move the
// bytes, because nothing of it may be loaded or stored by the host.

#ifndef FABRIC_PEER_MEMORY_H_
#define FABRIC_PEER_MEMORY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "fabric/memory.h"

namespace fabric {

// One allocation of a device. Every range must lie within it. Errors of the device are not told
// here, as no PCIe write tells one: its owner remembers them. Threads: as its device. Lives while
// a NIC holds it, even after its program frees it: that is what pinning means.
class PeerMemory {
 public:
  // A write that the device does not see yet; 0: it does.
  using Ticket = std::uint64_t;

  virtual ~PeerMemory() = default;

  // Where it lies in the device's addresses, which no host memory has. Constant, as the length is.
  virtual std::uint64_t address() const = 0;
  // Bytes of the allocation.
  virtual std::uint64_t length_bytes() const = 0;

  // Fills `target`, which is host memory, from the device. Meets every write before it, visible or
  // not, as PCIe reads do. Changes nothing that the device sees.
  virtual void Read(std::byte* target, std::uint64_t address, std::uint64_t length) = 0;
  // Writes from host memory, which may change as soon as this returns.
  virtual Ticket Write(std::uint64_t address, const std::byte* source, std::uint64_t length) = 0;
  // The same from memory of a device; absent: nothing happened, it has to go through the host.
  virtual std::optional<Ticket> CopyFrom(std::uint64_t address, PeerMemory& source,
                                         std::uint64_t source_address, std::uint64_t length) = 0;

  // From now on the device sees that write, and all before it. A ticket that it sees already is
  // fine.
  virtual void MakeVisible(Ticket ticket) = 0;
  // How long after a write a NIC is to call that.
  virtual std::chrono::nanoseconds visibility_delay() const = 0;
};

// A device whose memory NICs may use. Threads: as its device.
class PeerMemoryClient {
 public:
  virtual ~PeerMemoryClient() = default;

  // MemoryRequest::kind of memory that is this device's. Constant, as the number is.
  virtual MemoryKind kind() const = 0;
  // MemoryRequest::device of it: the number among the devices of that kind.
  virtual int device() const = 0;

  // The allocation that holds the range of `request`. kInvalidArgument: there is none, or its
  // dmabuf is no dmabuf of this device, is too short, or starts elsewhere; the message says which.
  virtual absl::StatusOr<std::shared_ptr<PeerMemory>> Pin(const MemoryRequest& request) = 0;
};

}  // namespace fabric

#endif  // FABRIC_PEER_MEMORY_H_
