#include "drydock/sim/rdm/rdm_fabric.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/sim/rdm/packet.h"
#include "drydock/sim/rdm/rdm_domain.h"
#include "drydock/sim/rdm/reorder_window.h"
#include "drydock/sim/rdm/scatter_list.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Capability;

// Most bytes of an injected message (tx inject of fi_info on p5.48xlarge;
// abcdabcd987/libfabric-efa-demo data/fi_info.yaml).
constexpr std::size_t kMostInjectBytes = 4096;

// Regions of the device that an endpoint uses for itself: two pools, and messages being read.
constexpr std::uint64_t kRegionsPerEndpoint = 4;

std::size_t OrElse(std::size_t wanted, std::size_t otherwise) {
  return wanted != 0 ? wanted : otherwise;
}

// What one peer may be ahead of its turn, at least.
constexpr std::uint64_t kLeastEarlyBytes = 16 << 20;

// The settings for a device, which decides those that are left to it.
Settings SettingsOn(const fabric::Limits& device, Settings settings) {
  if (settings.early_bytes == 0) {
    const std::uint64_t packets = device.send_queue_depth + device.receive_queue_depth;
    settings.early_bytes =
        std::max(kLeastEarlyBytes, packets * ReorderWindow::HeldBytes(device.max_message_bytes));
  }
  return settings;
}

class RdmFabric final : public fabric::Fabric {
 public:
  RdmFabric(std::unique_ptr<fabric::Fabric> device, std::shared_ptr<Alarm> alarm,
            const Settings& settings)
      : device_(std::move(device)),
        alarm_(std::move(alarm)),
        settings_(settings),
        description_(absl::StrCat("efa over ", std::string(device_->description()))) {
    const auto below = device_->nics();
    for (std::size_t i = 0; i < below.size(); ++i) {
      if (below[i].limits.max_message_bytes <= kMaxHeaderBytes) continue;
      nics_.push_back(RdmNicInfo(below[i], settings_));
      below_.push_back(i);
    }
  }

  std::string_view description() const override { return description_; }
  std::span<const fabric::NicInfo> nics() const override { return nics_; }

  absl::StatusOr<std::unique_ptr<fabric::Domain>> OpenDomain(std::size_t nic) override {
    if (nic >= nics_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("open domain: NIC ", nic, " does not exist, there are ", nics_.size()));
    }
    auto device = device_->OpenDomain(below_[nic]);
    if (!device.ok()) return device.status();
    const Settings settings = SettingsOn((*device)->nic().limits, settings_);
    return std::make_unique<RdmDomain>(
        std::make_shared<DomainCore>(alarm_, settings, *std::move(device), nics_[nic]));
  }

 private:
  const std::unique_ptr<fabric::Fabric> device_;
  const std::shared_ptr<Alarm> alarm_;
  const Settings settings_;
  const std::string description_;
  std::vector<fabric::NicInfo> nics_;
  std::vector<std::size_t> below_;  // the device's NIC of each
};

}  // namespace

fabric::NicInfo RdmNicInfo(const fabric::NicInfo& device, const Settings& settings) {
  fabric::NicInfo info = device;
  info.fabric = "efa";
  fabric::Limits& limits = info.limits;
  limits.send_queue_depth =
      OrElse(settings.operations,
             std::min(OrElse(settings.send_packets, SIZE_MAX), device.limits.send_queue_depth));
  limits.completion_queue_depth = std::max(device.limits.completion_queue_depth,
                                           limits.send_queue_depth + limits.receive_queue_depth);
  const std::size_t payload = device.limits.max_message_bytes - kMaxHeaderBytes;
  limits.max_message_bytes = fabric::Limits::kUnlimited;
  limits.max_rma_bytes = fabric::Limits::kUnlimited;
  limits.inject_bytes = std::min(kMostInjectBytes, payload);
  limits.inject_rma_bytes = limits.inject_bytes;
  limits.multi_receive_bytes = payload;
  limits.datagram_bytes = 0;
  limits.datagram_prefix_bytes = 0;
  limits.send_segments = kMaxSegments;
  limits.receive_segments = kMaxSegments;
  limits.rma_segments = 1;
  limits.mtu_bytes = static_cast<std::size_t>(device.limits.max_message_bytes);
  const std::uint64_t reserved = kRegionsPerEndpoint * limits.max_endpoints;
  if (limits.max_memory_regions > 2 * reserved) limits.max_memory_regions -= reserved;

  info.capabilities = {Capability::kMessages,
                       Capability::kRemoteWrite,
                       Capability::kRemoteRead,
                       Capability::kImmediateData,
                       Capability::kUnsolicitedImmediate,
                       Capability::kLongMessages,
                       Capability::kSendOrder,
                       Capability::kInject,
                       Capability::kSourceAddress,
                       Capability::kTaggedMessages,
                       Capability::kDirectedReceive,
                       Capability::kMultiReceive,
                       Capability::kCancel,
                       Capability::kAtomics,
                       Capability::kCounters};
  if (device.capabilities.Has(Capability::kReceiverNotReadyRetry)) {
    info.capabilities.Add(Capability::kReceiverNotReadyRetry);
  }
  // Where the NIC cannot read, software does, which holds a read to the rights that the program
  // gave. A NIC that can read may read memory that may be sent from.
  if (!device.capabilities.Has(Capability::kRemoteRead)) {
    info.capabilities.Add(Capability::kReadRights);
  }
  return info;
}

std::unique_ptr<fabric::Fabric> OpenRdmFabric(std::unique_ptr<fabric::Fabric> device,
                                              std::shared_ptr<Alarm> alarm,
                                              const Settings& settings) {
  return std::make_unique<RdmFabric>(std::move(device), std::move(alarm), settings);
}

}  // namespace drydock::sim::rdm
