// The state of one device: identity, tables, counters. The parts of a NIC share it, and operations
// refer by it to the NICs at both of their ends.

#ifndef DRYDOCK_SIM_DEVICE_NIC_STATE_H_
#define DRYDOCK_SIM_DEVICE_NIC_STATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "drydock/sim/device/address_handles.h"
#include "drydock/sim/device/device_counters.h"
#include "drydock/sim/device/queue_pair_table.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/events/actor.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/memory/memory_table.h"
#include "drydock/sim/network/port.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/random.h"

namespace drydock::sim {

// NICs by their index in the world: a bit each.
class NicSet {
 public:
  void Insert(std::uint32_t index) {
    if (index / 64 >= words_.size()) words_.resize(index / 64 + 1u);
    words_[index / 64] |= std::uint64_t{1} << index % 64;
  }
  bool Has(std::uint32_t index) const {
    return index / 64 < words_.size() && (words_[index / 64] >> index % 64 & 1) != 0;
  }

 private:
  std::vector<std::uint64_t> words_;
};

// The true state of a peer now, whatever a program was told.
enum class PeerState : std::uint8_t {
  kReachable,    // or nothing is known against it
  kNoQueuePair,  // its NIC is there, and no queue pair of this number and key on it
  kNotInserted,  // it did not insert our address
};

// Lives as long as its world. Not thread-safe.
struct NicState {
  // `index` counts the NICs of the world, `machine` the machines of the network. `name` is for
  // people: "server/rdmap79s0". `keys` decides where the generations of memory keys begin. The
  // profile outlives it.
  NicState(std::uint32_t index, std::uint32_t machine, std::string name_, const Gid& gid_,
           const Profile& profile_, const RandomStream& keys)
      : port(index, machine, profile_),
        name(std::move(name_)),
        gid(gid_),
        profile(profile_),
        memory(profile_.device, keys),
        handles(profile_.device.max_ah) {}
  NicState(const NicState&) = delete;
  NicState& operator=(const NicState&) = delete;

  std::uint32_t index() const { return port.index; }
  std::uint32_t machine() const { return port.machine; }
  bool alive() const { return port.alive; }
  // The state of the queue pair (`number`, `qkey`) here, for a queue pair of `initiator`.
  PeerState StateFor(const NicState& initiator, std::uint16_t number, std::uint32_t qkey) const {
    const QueuePair* queue_pair = queue_pairs.Find(number, qkey);
    if (queue_pair == nullptr) return PeerState::kNoQueuePair;
    const bool known =
        handles.NumberOf(queue_pair->domain, initiator.index()) != AddressHandles::kUnknown;
    return known ? PeerState::kReachable : PeerState::kNotInserted;
  }

  // Whether it is a NIC of another process (sim/hosts): its tables are there, and look-ups in them
  // were made there.
  bool elsewhere = false;
  std::uint32_t zone = 0;  // availability zone of its machine
  Actor* actor = nullptr;  // to which its events go
  Port port;
  const std::string name;
  const Gid gid;
  const Profile& profile;
  MemoryTable memory;
  AddressHandles handles;
  QueuePairTable queue_pairs;
  DeviceCounters counters;
  NicSet heard_from;              // peers that sent it something, ever
  bool answers_nonsense = false;  // a broken device: status 12 at its peers
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_NIC_STATE_H_
