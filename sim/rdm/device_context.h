// The contexts of our requests to the device below: the kind of the request, and its owner.

#ifndef DRYDOCK_SIM_RDM_DEVICE_CONTEXT_H_
#define DRYDOCK_SIM_RDM_DEVICE_CONTEXT_H_

#include <cstdint>

#include "drydock/fabric/operation.h"

namespace drydock::sim::rdm {

enum class DeviceRequest : std::uint8_t {
  kPacketSend = 1,     // number: the packet of the send pool
  kPacketReceive = 2,  // number: the packet of the receive pool
  kTransfer = 3,       // a write or read; number: the operation
};

// Bits that a number may have.
inline constexpr unsigned kNumberBits = 60;

constexpr fabric::Context MakeContext(DeviceRequest request, std::uint64_t number) {
  return static_cast<fabric::Context>(static_cast<std::uint64_t>(request) << kNumberBits | number);
}
constexpr DeviceRequest RequestOf(fabric::Context context) {
  return static_cast<DeviceRequest>(static_cast<std::uint64_t>(context) >> kNumberBits);
}
constexpr std::uint64_t NumberOf(fabric::Context context) {
  return static_cast<std::uint64_t>(context) & ((std::uint64_t{1} << kNumberBits) - 1);
}

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_DEVICE_CONTEXT_H_
