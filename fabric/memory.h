// Registered memory, and the ways to name a piece of it: locally in a work request, remotely to a
// peer.

#ifndef DRYDOCK_FABRIC_MEMORY_H_
#define DRYDOCK_FABRIC_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "absl/status/status.h"
#include "drydock/fabric/capability.h"

namespace drydock::fabric {

// The uses that a region allows. Combine with |. EFA's NIC holds a program's own requests to one
// right only: a region with kReceive, kRead or kRemoteWrite may be written. Other providers may
// look at each.
enum class Access : std::uint32_t {
  kNone = 0,
  kSend = 1 << 0,         // source of a Send
  kReceive = 1 << 1,      // target of a Recv
  kWrite = 1 << 2,        // source of a Write
  kRead = 1 << 3,         // target of a Read
  kRemoteWrite = 1 << 4,  // peers may Write here
  kRemoteRead = 1 << 5,   // peers may Read here
  kLocal = kSend | kReceive | kWrite | kRead,
  kAll = kLocal | kRemoteWrite | kRemoteRead,
};

constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
// True when `rights` holds all of `wanted`.
constexpr bool Allows(Access rights, Access wanted) {
  return (static_cast<std::uint32_t>(rights) & static_cast<std::uint32_t>(wanted)) ==
         static_cast<std::uint32_t>(wanted);
}

// Where the memory is, in libfabric's terms (FI_HMEM_SYSTEM, FI_HMEM_CUDA); or in the stand-in for
// a GPU (gpu/host_device), which only simulated NICs can reach.
enum class MemoryKind : std::uint8_t { kSystem, kCuda, kStandIn };

// A piece of a dmabuf: an open file descriptor and where in it the memory starts.
struct DmabufHandle {
  int fd;
  std::uint64_t offset_bytes;
};

// A piece of memory to register. `data` is the address by which it is used: a host address, or for
// device memory the device's, which the host must not touch.
struct MemoryRequest {
  std::byte* data = nullptr;
  std::size_t length_bytes = 0;
  Access access = Access::kAll;
  MemoryKind kind = MemoryKind::kSystem;
  int device = 0;                      // which device, for kinds other than kSystem
  std::optional<DmabufHandle> dmabuf;  // registers through the dmabuf instead of the address
};

// A registered range for a work request. A plain value: it does not keep its region open.
struct LocalBuffer {
  std::byte* data = nullptr;
  std::size_t length_bytes = 0;
  std::uint64_t local_key = 0;  // the backend's own descriptor
};
static_assert(std::is_trivially_destructible_v<LocalBuffer>);

// A place in a peer's memory. May come from an untrusted peer: the target checks it, not the
// initiator.
struct RemoteBuffer {
  // As the target names it: a virtual address, or an offset into the region.
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};
static_assert(std::is_trivially_destructible_v<RemoteBuffer>);

// Memory that a NIC may use.
//
// Ownership: the memory itself is the caller's, and must stay mapped until the region was closed
// and every operation that uses it has completed. Threads: as its Fabric. Blocking: Close may enter
// the kernel. Destruction: closes. A domain that is asked to close before is busy.
class MemoryRegion : public Capable {
 public:
  // Byte 0 of the registered memory: an address of the host, or of the device whose memory it is.
  // This, the length and the access are the same after Close.
  virtual std::byte* data() const = 0;
  // How many bytes were registered.
  virtual std::size_t length_bytes() const = 0;
  // The allowed uses of the bytes: as asked for, even where the NIC allows more
  // (Capability::kReadRights).
  virtual Access access() const = 0;

  // The local key that Local() puts into a LocalBuffer.
  virtual std::uint64_t local_key() const = 0;

  // How peers name byte 0 of this region, and with which key. Send both to the peer.
  virtual RemoteBuffer remote() const = 0;

  // Stops every use. Does not wait: an operation in flight ends with kLocalAccess or kRemoteAccess,
  // or has succeeded. Closing twice is harmless.
  virtual absl::Status Close() = 0;

  // `length` bytes from `offset`. REQUIRES: the range lies within the region.
  LocalBuffer Local(std::size_t offset, std::size_t length) const {
    return LocalBuffer{data() + offset, length, local_key()};
  }
  // The whole region.
  LocalBuffer Local() const { return Local(0, length_bytes()); }
  // How peers name byte `offset`, which may lie outside of the region: its NIC refuses it then.
  RemoteBuffer Remote(std::size_t offset) const {
    const RemoteBuffer first = remote();
    return RemoteBuffer{first.address + offset, first.key};
  }
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_MEMORY_H_
