#include "drydock/sim/hosts/proxies.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "drydock/sim/hosts/gid.h"

namespace drydock::sim {

std::uint32_t Proxies::Zone() const {
  return context_.directory.At(slot_).zone.load(std::memory_order_relaxed);
}

NicState& Proxies::Of(std::uint8_t nic) {
  std::unique_ptr<Proxy>& proxy = proxies_[nic];
  if (proxy != nullptr) return proxy->state();
  World& world = context_.world;
  const Profile& profile = context_.node.profile();
  const auto index = static_cast<std::uint32_t>(world.nics().size());
  proxy = std::make_unique<Proxy>(world.surroundings(), port_, index, slot_,
                                  absl::StrCat("machine-", slot_, "/", profile.nics[nic].name),
                                  GidOf(context_.fabric, {.machine = slot_, .nic = nic}), profile);
  proxy->state().port.rail = RailOf(profile, nic);
  proxy->state().zone = Zone();
  world.nics().Enter(proxy->state());
  if (alive_) proxy->Revive();
  return proxy->state();
}

void Proxies::Revive() {
  alive_ = true;
  // The successor in a dead machine's slot may be in another zone.
  const std::uint32_t zone = Zone();
  for (const auto& proxy : proxies_) {
    if (proxy == nullptr) continue;
    proxy->state().zone = zone;
    proxy->Revive();
  }
}

void Proxies::Kill() {
  alive_ = false;
  for (const auto& proxy : proxies_) {
    if (proxy != nullptr) proxy->Kill();
  }
}

}  // namespace drydock::sim
