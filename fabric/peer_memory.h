// Memory that is a device's and not the host's, as a NIC reaches it: over PCIe, past the host's
// caches. A Linux kernel calls this a peer memory client.
//
//   NIC ──► PeerMemory ──► the device's memory
//              │  a write has arrived, and the host may be told of it;
//              └► later the device sees it: MakeVisible, or a flush by the device's owner
//
// A real NIC needs none of this; a simulated NIC asks the owner of the memory to move the
// bytes, because nothing of it may be loaded or stored by the host.

#ifndef DRYDOCK_FABRIC_PEER_MEMORY_H_
#define DRYDOCK_FABRIC_PEER_MEMORY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/memory.h"

namespace drydock::fabric {

// One allocation of a device. Every range must lie within it. Errors of the device are not told
// here, as no PCIe write tells one: its owner remembers them. Threads: as its device. Lives while
// a NIC holds it, even after its program frees it: that is what pinning means.
class PeerMemory {
 public:
  // A write that the device does not see yet; 0: it does.
  using Ticket = std::uint64_t;
  // The NIC by which bytes come and go: PCIe keeps reads behind the writes of their own way, and
  // knows no order between two ways. Any number, a NIC's own.
  using Way = std::uint32_t;
  // The way of a reader that is no NIC, and sees everything that has arrived, visible or not.
  static constexpr Way kEveryWay = UINT32_MAX;

  virtual ~PeerMemory() = default;

  // Where it lies in the device's addresses, which no host memory has. Constant, as the length is.
  virtual std::uint64_t address() const = 0;
  // Bytes of the allocation.
  virtual std::uint64_t length_bytes() const = 0;

  // Fills `target`, which is host memory, from the device: what the device sees, and over it every
  // write of `way` before, as a PCIe read meets them. Changes nothing that the device sees.
  virtual void Read(Way way, std::byte* target, std::uint64_t address, std::uint64_t length) = 0;
  // Writes from host memory, which may change as soon as this returns.
  virtual Ticket Write(Way way, std::uint64_t address, const std::byte* source,
                       std::uint64_t length) = 0;
  // The same from memory of a device: `source_way` reads it, and the read pushes that way's earlier
  // writes. Absent: nothing happened, the bytes have to go through the host.
  virtual std::optional<Ticket> CopyFrom(Way way, std::uint64_t address, PeerMemory& source,
                                         Way source_way, std::uint64_t source_address,
                                         std::uint64_t length) = 0;

  // From now on the device sees that write, and all writes before it by the same way. Does nothing
  // for a ticket that the device sees already.
  virtual void MakeVisible(Ticket ticket) = 0;
  // The same for all writes of a way: a read of it has ended, and pushed them.
  virtual void Push(Way way) = 0;
  // How long after a write a NIC is to call MakeVisible.
  virtual std::chrono::nanoseconds visibility_delay() const = 0;

  // Calls *freed when the program gives the memory back, on the thread that does, unless *freed has
  // died. For a NIC that pins an address, as a kernel does (nvidia_p2p_get_pages, free_callback):
  // memory that has a dmabuf stays. REQUIRES: called, as TellFreed is, where the worlds of all NICs
  // that hold the memory may be touched.
  using Freed = std::function<void()>;
  void WatchFree(const std::shared_ptr<Freed>& freed) {
    std::erase_if(watchers_, [](const auto& watcher) { return watcher.expired(); });
    watchers_.push_back(freed);
  }
  // Whether the program has given it back: its address is free then, although a NIC may still hold
  // it.
  bool freed() const { return freed_; }
  // For its owner, when the program gives it back.
  void TellFreed() {
    freed_ = true;
    for (const std::weak_ptr<Freed>& watcher : std::exchange(watchers_, {})) {
      if (const std::shared_ptr<Freed> freed = watcher.lock()) (*freed)();
    }
  }

 private:
  std::vector<std::weak_ptr<Freed>> watchers_;
  bool freed_ = false;
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

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_PEER_MEMORY_H_
