#include <rdma/fi_errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/libfabric/errno_mapping.h"
#include "drydock/fabric/libfabric/libfabric_domain.h"
#include "drydock/fabric/shared_core.h"

namespace drydock::fabric::libfabric {
namespace {

// Providers trust the addresses that they are given, and these come from peers: only addresses of
// the provider's own kind pass.
absl::Status CheckAddress(const Address& address, const fi_info& info) {
  const auto bytes = address.bytes();
  if (info.addr_format == FI_ADDR_STR) {
    if (bytes.size() < 2 || bytes.back() != 0 ||
        std::find(bytes.begin(), bytes.end() - 1, 0) != bytes.end() - 1) {
      return absl::InvalidArgumentError("address is not a name of this provider");
    }
    return absl::OkStatus();
  }
  if (bytes.size() != info.src_addrlen) {
    return absl::InvalidArgumentError(
        absl::StrCat("address has ", bytes.size(), " bytes (", 2 * bytes.size(),
                     " digits): this provider's have ", info.src_addrlen));
  }
  sa_family_t family = 0;
  std::memcpy(&family, bytes.data(), sizeof family);
  if ((info.addr_format == FI_SOCKADDR_IN && family != AF_INET) ||
      (info.addr_format == FI_SOCKADDR_IN6 && family != AF_INET6)) {
    return absl::InvalidArgumentError(
        absl::StrCat("address is of family ", family, ", not an IP address of this provider"));
  }
  const auto name = bytes.first(std::min<std::size_t>(bytes.size(), 16));  // EFA: the GID
  if (std::all_of(name.begin(), name.end(), [](std::uint8_t byte) { return byte == 0; })) {
    return absl::InvalidArgumentError("address is all zeros");
  }
  return absl::OkStatus();
}

// The address that the provider is given. The end of an EFA address means something inside one
// process only (a pointer, in ofiwg/libfabric prov/efa/src/efa.h), and only that process may set
// it: a peer's is zero here, so that it makes no other peer of the address. REQUIRES: CheckAddress.
absl::StatusOr<Address> ForProvider(const Address& address, const fi_info& info) {
  if (info.addr_format != FI_ADDR_EFA) return address;
  constexpr std::size_t kEfaNameBytes = 24;
  std::array<std::uint8_t, Address::kEfaBytes> bytes{};
  std::copy_n(address.bytes().begin(), kEfaNameBytes, bytes.begin());
  return Address::FromBytes(bytes);
}

// The library counts what it took, and does not say why that was nothing.
absl::Status TookNone(const DomainCore& domain) {
  return absl::InvalidArgumentError(absl::StrCat(
      "insert peer: fi_av_insert took no address",
      domain.is_efa ? ": the GID is of no NIC that can be reached, or the device has no address "
                      "handle left"
                    : ""));
}

// A value that names no peer at this place of the table: its number belongs to another place.
std::uint64_t Nobody(std::uint64_t place) { return ~place & UINT32_MAX; }

}  // namespace

VectorCore::VectorCore(std::shared_ptr<DomainCore> owner, Handle<fid_av> handle)
    : domain(std::move(owner)), vector(std::move(handle)), mask(1), peers{Nobody(0), Nobody(1)} {}

Peer VectorCore::Put(fi_addr_t number, const Address& address) {
  if (peers.size() <= number) {
    const std::size_t before = peers.size();
    peers.resize(std::bit_ceil(number + 1));
    mask = peers.size() - 1;
    for (std::size_t place = before; place < peers.size(); ++place) peers[place] = Nobody(place);
  }
  if (addresses.size() <= number) addresses.resize(number + 1);
  // The library may give one number to one address that is inserted twice: the peer stays the same.
  // shm gives the number of an address that it cannot reach to the next one: the peer before is
  // gone, and must not be mistaken for this one.
  if (peers[number] == Nobody(number) || addresses[number] != address) {
    peers[number] = std::uint64_t{++last_generation} << 32 | number;
  }
  addresses[number] = address;
  return static_cast<Peer>(peers[number]);
}

void VectorCore::Forget(Peer peer) {
  const fi_addr_t number = NumberOf(peer);
  peers[number] = Nobody(number);
}

absl::StatusOr<Peer> LibfabricAddressVector::Insert(const Address& address) {
  if (core_ == nullptr) return ClosedError("address vector");
  RETURN_IF_ERROR(CheckAddress(address, *core_->domain->nic.info));
  ASSIGN_OR_RETURN(const Address given, ForProvider(address, *core_->domain->nic.info));
  fi_addr_t number = FI_ADDR_UNSPEC;
  const int result =
      core_->domain->api.InsertAddress(core_->vector.get(), given.bytes().data(), &number);
  if (result < 0) return ControlError(result, "insert peer: fi_av_insert");
  if (result != 1 || number > UINT32_MAX) return TookNone(*core_->domain);
  return core_->Put(number, given);
}

absl::Status LibfabricAddressVector::Remove(Peer peer) {
  if (core_ == nullptr) return ClosedError("address vector");
  const fi_addr_t number = core_->Find(peer);
  if (number == FI_ADDR_UNSPEC) return absl::NotFoundError("remove peer: no such peer");
  core_->Forget(peer);
  const int result = core_->domain->api.RemoveAddress(core_->vector.get(), number);
  return result == 0 ? absl::OkStatus() : ControlError(result, "remove peer: fi_av_remove");
}

absl::StatusOr<Address> LibfabricAddressVector::Lookup(Peer peer) const {
  if (core_ == nullptr) return ClosedError("address vector");
  const fi_addr_t number = core_->Find(peer);
  if (number == FI_ADDR_UNSPEC) return absl::NotFoundError("look up peer: no such peer");
  return core_->addresses[number];
}

absl::Status LibfabricAddressVector::Close() { return CloseShared(core_, "address vector"); }

}  // namespace drydock::fabric::libfabric
