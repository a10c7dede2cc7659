// One open NIC, for the objects that are made of it.

#ifndef DRYDOCK_SIM_DRIVER_DOMAIN_CORE_H_
#define DRYDOCK_SIM_DRIVER_DOMAIN_CORE_H_

#include <cstdint>

#include "drydock/fabric/fabric.h"
#include "drydock/sim/device/nic.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

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

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DRIVER_DOMAIN_CORE_H_
