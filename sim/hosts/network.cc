#include "drydock/sim/hosts/network.h"

#include <bit>
#include <optional>

#include "drydock/sim/hosts/gid.h"

namespace drydock::sim {
namespace {

// Messages that are taken from one process before others have their turn, who wait for the mutex
// meanwhile: a process may write faster than they are read.
constexpr std::size_t kMostAtOnce = 256;

}  // namespace

Network::Network(World& world, Node& node, Directory& directory, FarMachines* far,
                 std::uint64_t fabric, bool cross_memory)
    : context_{.world = world,
               .node = node,
               .directory = directory,
               .far = far,
               .fabric = fabric,
               .cross_memory = cross_memory} {
  world.nics().UseNeighbours(this);
  world.observers().Add(*this);
}

Network::~Network() {
  context_.world.observers().Remove(*this);
  context_.world.nics().UseNeighbours(nullptr);
}

void Network::OnGone(const Operation& operation) {
  if (operation.remote) {
    neighbours_[operation.peer->machine()]->SendEnded(operation);
  } else if (operation.initiator != nullptr && operation.initiator->elsewhere) {
    neighbours_[operation.initiator->machine()]->Forget(operation);
  }
}

template <typename Visit>
void Network::ForEach(Visit visit) const {
  for (std::size_t i = 0; i < known_.size(); ++i) visit(*known_[i]);  // visits may make some known
}

Neighbour& Network::At(std::uint8_t slot) {
  std::unique_ptr<Neighbour>& neighbour = neighbours_[slot];
  if (neighbour == nullptr) {
    neighbour = std::make_unique<Neighbour>(context_, slot);
    known_.push_back(neighbour.get());
  }
  return *neighbour;
}

NicState* Network::Find(const Gid& gid) {
  const std::optional<NicPlace> place = PlaceOf(context_.fabric, gid);
  // Over sockets an address may come before the news that its machine is there.
  const bool known = place.has_value() && place->machine != context_.directory.slot() &&
                     place->nic < context_.node.nic_count() &&
                     (context_.far != nullptr || context_.directory.WasTaken(place->machine));
  return known ? &At(place->machine).ProxyOf(place->nic) : nullptr;
}

void Network::Refresh() {
  const std::uint32_t far_epoch = context_.far == nullptr ? 0 : context_.far->epoch();
  const std::uint32_t epoch = context_.directory.epoch() + far_epoch;
  if (epoch == epoch_) return;
  epoch_ = epoch;
  ForEach([](Neighbour& neighbour) { neighbour.Refresh(); });
}

bool Network::HasIncoming() {
  for (const auto& bits : context_.directory.mine().incoming) {
    if (bits.load(std::memory_order_seq_cst) != 0) return true;
  }
  return context_.far != nullptr && context_.far->Listen();
}

Neighbour::Taken Network::TakeFrom(std::uint8_t slot, std::size_t most) {
  if (slot == context_.directory.slot()) return Neighbour::Taken::kNothing;
  Neighbour& neighbour = At(slot);
  neighbour.Refresh();
  return neighbour.Take(most);
}

bool Network::Take() {
  bool took = false;
  if (context_.far != nullptr) {
    context_.far->Poll([&](std::uint8_t slot) {
      // The second time from the incarnation that took its place. A look at a socket brings no more
      // than a piece.
      for (int i = 0; i < 2; ++i) {
        if (TakeFrom(slot, SIZE_MAX) != Neighbour::Taken::kNothing) took = true;
      }
    });
  }
  for (std::size_t word = 0; word < kMachines / 64; ++word) {
    auto& bits = context_.directory.mine().incoming[word];
    if (bits.load(std::memory_order_relaxed) == 0) continue;
    for (std::uint64_t left = bits.exchange(0, std::memory_order_seq_cst); left != 0;
         left &= left - 1) {
      const auto slot =
          static_cast<std::uint8_t>(64 * word + static_cast<unsigned>(std::countr_zero(left)));
      const Neighbour::Taken taken = TakeFrom(slot, kMostAtOnce);
      if (taken != Neighbour::Taken::kNothing) took = true;
      if (taken == Neighbour::Taken::kSome) bits.fetch_or(left & -left, std::memory_order_seq_cst);
    }
  }
  return took;
}

void Network::Flush() {
  ForEach([](Neighbour& neighbour) { neighbour.Flush(); });
}

void Network::CheckPulses() {
  ForEach([](Neighbour& neighbour) { neighbour.CheckPulse(); });
}

bool Network::busy() const {
  bool busy = false;
  ForEach([&](const Neighbour& neighbour) { busy = busy || neighbour.busy(); });
  return busy;
}

bool Network::has_waiting() const {
  bool waiting = false;
  ForEach([&](const Neighbour& neighbour) { waiting = waiting || neighbour.has_waiting(); });
  return waiting;
}

bool Network::owes() const {
  bool owes = false;
  ForEach([&](const Neighbour& neighbour) { owes = owes || neighbour.owes(); });
  return owes;
}

}  // namespace drydock::sim
