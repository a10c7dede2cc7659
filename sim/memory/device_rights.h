// Translates the rights that a program registers memory with to those of EFA's device.

#ifndef DRYDOCK_SIM_MEMORY_DEVICE_RIGHTS_H_
#define DRYDOCK_SIM_MEMORY_DEVICE_RIGHTS_H_

#include "drydock/fabric/memory.h"

namespace drydock::sim {

// The device has one right for its own work requests, to write: the provider asks for it where a
// region takes messages, the results of reads, or peers' writes, and anything that is registered
// may be sent from and written from (ofiwg/libfabric prov/efa/src/efa_mr.c). Peers' rights stay as
// they are.
constexpr fabric::Access DeviceRights(fabric::Access asked) {
  using enum fabric::Access;
  const bool writes = fabric::Allows(asked, kReceive) || fabric::Allows(asked, kRead) ||
                      fabric::Allows(asked, kRemoteWrite);
  return asked | kSend | kWrite | (writes ? kReceive | kRead : kNone);
}

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_MEMORY_DEVICE_RIGHTS_H_
