#include "drydock/sim/faults/device_faults.h"

#include <cstddef>

namespace drydock::sim {
namespace {

using enum fabric::faults::Fault;

// Faults that the catalogue gives to the device and that others apply.
constexpr fabric::faults::Fault kLeftToOthers[] = {
    // The decorator: calls that fail before they reach the device, faults that are not one NIC's,
    // and a status of the software protocol.
    kSendQueueFull, kReceiveQueueFull, kAgainUntilPolled, kAgainThenAccepted, kPostRefused,
    kPartialBatch, kOpenDomainFails, kOpenAddressVectorFails, kOpenCompletionQueueFails,
    kOpenEndpointFails, kOpenCounterFails, kRegisterMemoryFails, kPeerAborted, kShortRead,
    kEmptyRead, kDroppedPeer, kInsertPeerFails,
    // The stand-in GPU, always.
    kLateDeviceVisibility};

}  // namespace

fabric::faults::FaultSet DeviceFaults() {
  fabric::faults::FaultSet set = FaultsOf(fabric::faults::Layer::kDevice);
  for (const fabric::faults::Fault fault : kLeftToOthers) {
    set.reset(static_cast<std::size_t>(fault));
  }
  return set;
}

}  // namespace drydock::sim
