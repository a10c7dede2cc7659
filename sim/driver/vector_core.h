// An address vector, for the handle that a program owns and the endpoints that send to its peers.

#ifndef DRYDOCK_SIM_DRIVER_VECTOR_CORE_H_
#define DRYDOCK_SIM_DRIVER_VECTOR_CORE_H_

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/driver/domain_core.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/events/event.h"

namespace drydock::sim {

// The peers of one address vector. A Peer is slot + generation, so that a removed one is not
// mistaken for its successor.
class VectorCore {
 public:
  struct Entry {
    EfaAddress address;
    std::uint16_t handle = 0;      // the device's address handle
    std::uint32_t nic = kNoActor;  // index of the peer's NIC, or kNoActor if none had its address
    std::uint32_t generation = 0;
    bool live = false;
  };

  explicit VectorCore(std::shared_ptr<DomainCore> owner) : domain_(std::move(owner)) {}
  VectorCore(const VectorCore&) = delete;
  VectorCore& operator=(const VectorCore&) = delete;
  ~VectorCore();

  const std::shared_ptr<DomainCore>& domain() const { return domain_; }

  // Null when there is no such peer. Valid until the next Insert.
  const Entry* Find(fabric::Peer peer) const {
    const auto packed = static_cast<std::uint64_t>(peer);
    const auto slot = static_cast<std::uint32_t>(packed);
    if (slot >= entries_.size()) return nullptr;
    const Entry& entry = entries_[slot];
    return entry.live && entry.generation == packed >> 32 ? &entry : nullptr;
  }

  // The peer with this address handle and queue pair; kNoPeer when it is not in this vector.
  fabric::Peer FindSource(std::uint16_t handle, std::uint16_t queue_pair) const {
    if (handle >= sources_.size() || sources_[handle].empty()) return fabric::kNoPeer;
    const Source& last = sources_[handle].back();
    return last.queue_pair == queue_pair ? last.peer : SearchSource(handle, queue_pair);
  }

  // An address that is there already is the same peer, and costs no reference to its address handle
  // (libfabric prov/efa/src/efa_av.c). kResourceExhausted: the device has no address handle left.
  absl::StatusOr<fabric::Peer> Insert(const EfaAddress& address);
  // REQUIRES: Find(peer) is not null.
  void Remove(fabric::Peer peer);

 private:
  // The senders that use a handle: usually one.
  struct Source {
    std::uint16_t queue_pair;
    fabric::Peer peer;
  };

  // The parts of an address that identify it.
  using Key = std::tuple<Gid, std::uint16_t, std::uint32_t>;
  static Key KeyOf(const EfaAddress& address) {
    return {address.gid, address.queue_pair, address.qkey};
  }

  fabric::Peer SearchSource(std::uint16_t handle, std::uint16_t queue_pair) const;

  std::shared_ptr<DomainCore> domain_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_slots_;
  absl::flat_hash_map<Key, fabric::Peer> by_address_;  // only looked up
  std::vector<std::vector<Source>> sources_;  // index = address handle; the last inserted last
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DRIVER_VECTOR_CORE_H_
