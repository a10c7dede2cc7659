#include "drydock/sim/hosts/presence.h"

namespace drydock::sim {

std::uint32_t Presence::Living() const {
  return is_far() ? far_->LivingIn(slot_) : directory_.LivingIn(slot_);
}

bool Presence::Appear(std::uint32_t living) {
  if (living == 0 || living == distrusted_) return false;
  incarnation_ = living;
  return true;
}

bool Presence::NoteDeath() {
  if (!present() || is_far() || directory_.IsHeld(slot_)) return false;
  directory_.NoteDeath(slot_, incarnation_);
  return true;
}

}  // namespace drydock::sim
