#include "drydock/fabric/async/transfer/descriptor.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/status_macros.h"

namespace drydock::fabric::async::transfer {
namespace {

// The first four bytes name the kind of descriptor, and its version.
constexpr std::uint32_t kPeerMagic = 0x31705244;    // "DRp1"
constexpr std::uint32_t kMemoryMagic = 0x316d5244;  // "DRm1"

void Append(std::vector<std::byte>& bytes, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

// Little-endian numbers, one after the other. Past the end there are zeros, and ok() is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::uint64_t Number(std::size_t size) {
    const std::span<const std::byte> bytes = Bytes(size);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    }
    return value;
  }
  std::span<const std::byte> Bytes(std::size_t count) {
    ok_ = ok_ && count <= rest_.size();
    if (!ok_) return {};
    const std::span<const std::byte> taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  bool ok() const { return ok_; }
  std::size_t left() const { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

absl::Status Malformed(absl::string_view what, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("parse ", what, " descriptor: ", why));
}

// The head that both kinds share; the number of NICs.
absl::StatusOr<std::size_t> ReadHead(Reader& reader, std::uint32_t magic, absl::string_view what) {
  if (reader.Number(4) != magic) return Malformed(what, "these are other bytes");
  const std::size_t nics = reader.Number(2);
  if (!reader.ok()) return Malformed(what, "it is cut off");
  if (nics == 0 || nics > kMostNics) {
    return Malformed(what, absl::StrCat(nics, " NICs, not 1 to ", kMostNics));
  }
  return nics;
}

absl::Status CheckEnd(const Reader& reader, absl::string_view what) {
  if (!reader.ok()) return Malformed(what, "it is cut off");
  if (reader.left() > 0) return Malformed(what, absl::StrCat(reader.left(), " bytes too many"));
  return absl::OkStatus();
}

}  // namespace

std::vector<std::byte> PeerDescriptor::Serialize() const {
  std::vector<std::byte> bytes;
  Append(bytes, kPeerMagic, 4);
  Append(bytes, nics.size(), 2);
  for (const Address& address : nics) {
    Append(bytes, address.size(), 1);
    for (const std::uint8_t byte : address.bytes()) bytes.push_back(static_cast<std::byte>(byte));
  }
  return bytes;
}

absl::StatusOr<PeerDescriptor> PeerDescriptor::Parse(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  ASSIGN_OR_RETURN(const std::size_t count, ReadHead(reader, kPeerMagic, "peer"));
  PeerDescriptor peer;
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const std::byte> text = reader.Bytes(reader.Number(1));
    if (!reader.ok()) return Malformed("peer", "it is cut off");
    std::vector<std::uint8_t> octets;
    for (const std::byte byte : text) octets.push_back(static_cast<std::uint8_t>(byte));
    const absl::StatusOr<Address> address = Address::FromBytes(octets);
    if (!address.ok()) {
      return Malformed("peer", absl::StrCat("NIC ", i, ": ", address.status().message()));
    }
    if (std::find(peer.nics.begin(), peer.nics.end(), *address) != peer.nics.end()) {
      return Malformed("peer", absl::StrCat("NIC ", i, " has the address of an earlier one"));
    }
    peer.nics.push_back(*address);
  }
  RETURN_IF_ERROR(CheckEnd(reader, "peer"));
  return peer;
}

std::vector<std::byte> MemoryDescriptor::Serialize() const {
  std::vector<std::byte> bytes;
  Append(bytes, kMemoryMagic, 4);
  Append(bytes, nics.size(), 2);
  Append(bytes, length_bytes, 8);
  for (const RemoteBuffer& buffer : nics) {
    Append(bytes, buffer.address, 8);
    Append(bytes, buffer.key, 8);
  }
  return bytes;
}

absl::StatusOr<MemoryDescriptor> MemoryDescriptor::Parse(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  ASSIGN_OR_RETURN(const std::size_t count, ReadHead(reader, kMemoryMagic, "memory"));
  MemoryDescriptor memory;
  memory.length_bytes = reader.Number(8);
  for (std::size_t i = 0; i < count; ++i) {
    RemoteBuffer buffer;
    buffer.address = reader.Number(8);
    buffer.key = reader.Number(8);
    memory.nics.push_back(buffer);
  }
  RETURN_IF_ERROR(CheckEnd(reader, "memory"));
  if (memory.length_bytes == 0) return Malformed("memory", "memory of no bytes");
  for (const RemoteBuffer& buffer : memory.nics) {
    if (buffer.address > UINT64_MAX - memory.length_bytes) {
      return Malformed("memory", "it goes past the last address");
    }
  }
  return memory;
}

}  // namespace drydock::fabric::async::transfer
