// The state that the objects of one open NIC share, behind the handles that a program owns.

#ifndef DRYDOCK_SIM_DRIVER_DRIVER_CORE_H_
#define DRYDOCK_SIM_DRIVER_DRIVER_CORE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/device/completion_ring.h"
#include "drydock/sim/device/nic.h"
#include "drydock/sim/device/one_thread.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/events/event.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

class SimEndpoint;

struct DomainCore {
  DomainCore(World& world_, Nic& nic_, const fabric::NicInfo& info_, ProtectionDomain domain_,
             bool is_protocols_)
      : world(world_), nic(nic_), info(info_), domain(domain_), is_protocols(is_protocols_) {}
  DomainCore(const DomainCore&) = delete;
  DomainCore& operator=(const DomainCore&) = delete;
  ~DomainCore() { nic.admin().FreeDomain(domain); }

  World& world;
  Nic& nic;
  const fabric::NicInfo info;
  const ProtectionDomain domain;
  const bool is_protocols;   // a protocol uses it for the program (sim/rdm)
  std::uint32_t object = 0;  // for observers: OpenObject::number of its handle
};

// A completion ring, and the endpoints whose completions arrive in it.
struct QueueCore {
  QueueCore(std::shared_ptr<DomainCore> owner, std::shared_ptr<CompletionRing> entries)
      : domain(std::move(owner)), ring(std::move(entries)) {}
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;
  ~QueueCore() { domain->nic.admin().DestroyCompletionRing(); }

  // Takes the completions that a program is to see, as many as there are and fit; returns how many.
  // Most polls find nothing, and cost no more than this look.
  std::size_t Take(std::span<fabric::Completion> completions) {
    if (ring->empty() && kept.empty() && staged.empty()) return 0;
    return TakeSome(completions);
  }

  // Moves the entries in the ring to `staged`, where Take finds them, because a program reads a
  // counter. libfabric's provider polls the device's queue into its own for the same reason
  // (ofiwg/libfabric prov/efa/src/efa_cntr.c, efa_cntr_progress). Request slots stay taken.
  void Stage();

  // To be called before an endpoint closes. Drops its completions, because its queue pair number
  // and request ids will be reused, and keeps those of the other endpoints.
  void Forget(std::uint16_t queue_pair);

  std::shared_ptr<DomainCore> domain;
  std::shared_ptr<CompletionRing> ring;
  std::vector<SimEndpoint*> endpoints;  // index = queue pair number; null when closed
  struct Kept {
    std::uint16_t queue_pair;
    fabric::Completion completion;
  };
  std::deque<Kept> kept;                             // read from the ring ahead of time
  std::deque<fabric::efa_queue::Completion> staged;  // taken from it later, not yet read
  OneThread users;  // one thread at a time, together with its endpoints: fabric/endpoint.h

 private:
  // Take, where there may be something.
  std::size_t TakeSome(std::span<fabric::Completion> completions);
  // Takes the next entry out of the ring, and counts it; false: there is none. Sets `owner` to the
  // entry's endpoint, or to null if that endpoint is not open.
  bool TakeEntry(fabric::efa_queue::Completion& entry, SimEndpoint*& owner);
};

// A call into a completion queue, or into an endpoint and its completion queues. Tells the
// observers when two threads are inside at the same time.
class QueueCall {
 public:
  explicit QueueCall(QueueCore& queue) { Come(queue, nullptr, queue.ring->number(), false); }
  // `queue_pair`: its number.
  QueueCall(QueueCore& sends, QueueCore& receives, std::uint32_t queue_pair) {
    Come(sends, &receives == &sends ? nullptr : &receives, queue_pair, true);
  }

 private:
  void Come(QueueCore& queue, QueueCore* other, std::uint32_t number, bool queue_pair) {
    const Observers& observers = queue.domain->world.observers();
    if (!observers.any()) return;
    bool alone = visit_.Enter(queue.users);
    if (other != nullptr && !other_.Enter(other->users)) alone = false;
    if (!alone) [[unlikely]] {
      observers.Tell<&Observer::OnTwoThreads>(queue.domain->nic.state(), number, queue_pair);
    }
  }

  Visit visit_;
  Visit other_;
};

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

#endif  // DRYDOCK_SIM_DRIVER_DRIVER_CORE_H_
