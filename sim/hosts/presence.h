// Which incarnation of another machine this process exchanges messages with.

#ifndef DRYDOCK_SIM_HOSTS_PRESENCE_H_
#define DRYDOCK_SIM_HOSTS_PRESENCE_H_

#include <cstdint>

#include "drydock/sim/hosts/directory.h"
#include "drydock/sim/hosts/sockets/far_machines.h"

namespace drydock::sim {

// Not thread-safe: belongs to the world of this process. It only notes what its owner decides: the
// owner opens and closes the channel to the incarnation.
class Presence {
 public:
  // `far`: null where the network is of this computer. Both outlive it.
  Presence(Directory& directory, const FarMachines* far, std::uint8_t slot)
      : directory_(directory), far_(far), slot_(slot) {}

  std::uint8_t slot() const { return slot_; }
  // 0: none.
  std::uint32_t incarnation() const { return incarnation_; }
  bool present() const { return incarnation_ != 0; }
  // Whether sockets reach the machine. Its next incarnation may be on another computer: not to be
  // kept.
  bool is_far() const { return far_ != nullptr && far_->Has(slot_); }
  // The incarnation that is in the slot now, one that is not trusted, too; 0: none.
  std::uint32_t Living() const;

  // `living`: see Living. False: none is there, or one that is not trusted, and none is present.
  // REQUIRES: none is present.
  bool Appear(std::uint32_t living);
  void Vanish() { incarnation_ = 0; }
  // It has written nonsense, and does not appear again. Vanish is still to be called.
  void Distrust() { distrusted_ = incarnation_; }
  // Whether its process has died, in a slot of this computer; others learn it then. Costs a system
  // call where one is present. The end of a far one's channel shows its death.
  bool NoteDeath();

 private:
  Directory& directory_;
  const FarMachines* const far_;
  const std::uint8_t slot_;
  std::uint32_t incarnation_ = 0;
  std::uint32_t distrusted_ = 0;  // the last one that wrote nonsense
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_PRESENCE_H_
