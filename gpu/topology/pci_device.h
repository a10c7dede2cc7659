// PCI addresses and identities, as hwloc and Linux write them.

#ifndef DRYDOCK_GPU_TOPOLOGY_PCI_DEVICE_H_
#define DRYDOCK_GPU_TOPOLOGY_PCI_DEVICE_H_

#include <cstdint>
#include <string>
#include <tuple>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::gpu::topology {

// Domain, bus, device, function: in the order in which the addresses count.
using PciAddress = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

// "0000:4f:00.0". kInvalidArgument: not such an address.
absl::StatusOr<PciAddress> ParsePciAddress(absl::string_view text);

struct PciIdentity {
  std::uint32_t device_class = 0;  // 0x0302: a 3D controller
  std::uint32_t vendor = 0;        // 0x10de: NVIDIA
  std::uint32_t device = 0;        // 0x2330
};

// hwloc's "0302 [10de:2330] [10de:16c1] a1"; what follows the first pair of brackets is ignored.
// kInvalidArgument: does not begin like that.
absl::StatusOr<PciIdentity> ParsePciType(absl::string_view text);

// "0302", "10de:2330".
std::string FormatPciClass(const PciIdentity& identity);
std::string FormatVendorDeviceId(const PciIdentity& identity);

// GPUs and other accelerators, not the display controllers of servers and hypervisors.
bool IsGpu(const PciIdentity& identity);

// Network devices that do RDMA whether or not a driver is loaded: EFA and InfiniBand; EFA only.
bool IsRdmaNic(const PciIdentity& identity);
bool IsEfaNic(const PciIdentity& identity);

}  // namespace drydock::gpu::topology

#endif  // DRYDOCK_GPU_TOPOLOGY_PCI_DEVICE_H_
