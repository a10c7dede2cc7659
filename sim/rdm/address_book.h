// The peers of one address vector: those that the program inserted, and those that the protocol
// inserted because they sent us something.

#ifndef DRYDOCK_SIM_RDM_ADDRESS_BOOK_H_
#define DRYDOCK_SIM_RDM_ADDRESS_BOOK_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/address_vector.h"

namespace drydock::sim::rdm {

// The sender's mark in every packet: the qkey of its address, which is drawn at random when an
// endpoint is opened. It tells two endpoints apart that had the same queue pair number one after
// the other. REQUIRES: an EFA address.
std::uint32_t ConnidOf(const fabric::Address& address);

// True when both have one GID and one queue pair number. REQUIRES: EFA addresses.
bool SameQueuePair(const fabric::Address& a, const fabric::Address& b);

// One address, however often it was inserted, and whether by the program or by the protocol: the
// program knows it by one handle, the device below by one peer.
struct AddressEntry {
  std::uint64_t number = 0;  // of this entry, in order of creation
  fabric::Address address;
  fabric::Peer device_peer{};
  fabric::Peer handle = fabric::kNoPeer;  // the program's; kNoPeer: an implicit entry
  bool inserted = false;                  // by the program, which may have removed it since
};

// Not thread-safe. Entries live as long as they are held or the program has a handle. A peer that
// the program removed while an endpoint talks to it becomes an implicit one: its conversation goes
// on, and its name is gone.
class AddressBook {
 public:
  explicit AddressBook(std::unique_ptr<fabric::AddressVector> device)
      : device_(std::move(device)) {}

  // The functions of the program's address vector.
  absl::StatusOr<fabric::Peer> Insert(const fabric::Address& address);
  absl::Status Remove(fabric::Peer peer);
  absl::StatusOr<fabric::Address> Lookup(fabric::Peer peer) const;

  // The entry of the program's handle; null when there is none.
  std::shared_ptr<AddressEntry> Find(fabric::Peer peer) const;
  // The entry that the device calls so; null when there is none.
  std::shared_ptr<AddressEntry> FindDevicePeer(fabric::Peer device_peer) const;
  // The entry of an address; null when there is none. REQUIRES: an EFA address.
  std::shared_ptr<AddressEntry> FindAddress(const fabric::Address& address) const;
  // The entry of the endpoint that has, or had, the same queue pair and this connid; null when
  // there is none.
  std::shared_ptr<AddressEntry> FindConnid(const AddressEntry& same_queue_pair,
                                           std::uint32_t connid) const;
  // The entry of an address, made if need be. kInvalidArgument: no EFA address. Other errors are
  // the device's.
  absl::StatusOr<std::shared_ptr<AddressEntry>> Use(const fabric::Address& address);

  // Drops implicit entries that only the book holds.
  void Collect();

  fabric::AddressVector& device() { return *device_; }

  // AddressEntry::number of the entry that is made next.
  std::uint64_t next_number() const { return next_number_; }

 private:
  // GID, queue pair number and qkey: the parts that the fabric looks at.
  using Key = std::array<std::uint8_t, 22>;
  static Key KeyOf(const fabric::Address& address);

  struct Handle {
    std::shared_ptr<AddressEntry> entry;  // null: free
    fabric::Address address;              // byte for byte as it was inserted
    std::uint32_t generation = 0;
  };
  const Handle* FindHandle(fabric::Peer peer) const;
  // Drops the entry if only the book holds it.
  void DropIfUnused(const Key& key);

  std::unique_ptr<fabric::AddressVector> device_;
  std::map<Key, std::shared_ptr<AddressEntry>> entries_;
  std::map<fabric::Peer, Key> by_device_peer_;
  std::vector<Handle> handles_;
  std::vector<std::uint32_t> free_handles_;
  std::uint64_t next_number_ = 1;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_ADDRESS_BOOK_H_
