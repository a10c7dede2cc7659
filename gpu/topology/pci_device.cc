#include "drydock/gpu/topology/pci_device.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace drydock::gpu::topology {
namespace {

constexpr std::uint32_t kNvidia = 0x10de;
constexpr std::uint32_t kAmd = 0x1002;
constexpr std::uint32_t kAmazon = 0x1d0f;

constexpr std::uint32_t kAmdEs1000 = 0x515e;  // the display of servers around 2008

constexpr std::uint32_t kInfiniBandController = 0x0207;
constexpr std::uint32_t kVgaController = 0x0300;
constexpr std::uint32_t kController3d = 0x0302;
constexpr std::uint32_t kDisplayController = 0x0380;
constexpr std::uint32_t kSystemPeripheral = 0x0880;
constexpr std::uint32_t kProcessingAccelerator = 0x1200;

bool ParseHex(absl::string_view text, std::uint32_t max, std::uint32_t& value) {
  return !text.empty() && absl::ascii_isxdigit(static_cast<unsigned char>(text[0])) &&
         absl::SimpleHexAtoi(text, &value) && value <= max;
}

}  // namespace

absl::StatusOr<PciAddress> ParsePciAddress(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::ByAnyChar(":."));
  std::uint32_t domain = 0, bus = 0, device = 0, function = 0;
  if (parts.size() != 4 || !ParseHex(parts[0], UINT32_MAX, domain) ||
      !ParseHex(parts[1], 0xff, bus) || !ParseHex(parts[2], 0x1f, device) ||
      !ParseHex(parts[3], 7, function)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no PCI address such as 0000:4f:00.0"));
  }
  return PciAddress(domain, bus, device, function);
}

absl::StatusOr<PciIdentity> ParsePciType(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::ByAnyChar(" [:]"));
  PciIdentity identity;  // "0302", "", "10de", "2330", ...
  if (parts.size() < 5 || !ParseHex(parts[0], 0xffff, identity.device_class) ||
      !ParseHex(parts[2], 0xffff, identity.vendor) ||
      !ParseHex(parts[3], 0xffff, identity.device)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no PCI type such as 0302 [10de:2330]"));
  }
  return identity;
}

std::string FormatPciClass(const PciIdentity& identity) {
  return absl::StrFormat("%04x", identity.device_class);
}

std::string FormatVendorDeviceId(const PciIdentity& identity) {
  return absl::StrFormat("%04x:%04x", identity.vendor, identity.device);
}

bool IsGpu(const PciIdentity& identity) {
  switch (identity.device_class) {
    case kController3d:
    case kProcessingAccelerator:
      return true;
    case kVgaController:
    case kDisplayController:
      return identity.vendor == kNvidia ||
             (identity.vendor == kAmd && identity.device != kAmdEs1000);
    case kSystemPeripheral:
      return identity.vendor == kAmazon;  // Neuron devices: Inferentia, Trainium
    default:
      return false;
  }
}

bool IsEfaNic(const PciIdentity& identity) {
  return identity.vendor == kAmazon && (identity.device & 0xfff0) == 0xefa0;
}

bool IsRdmaNic(const PciIdentity& identity) {
  return IsEfaNic(identity) || identity.device_class == kInfiniBandController;
}

}  // namespace drydock::gpu::topology
