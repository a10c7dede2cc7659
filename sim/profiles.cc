#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sim/profile.h"

namespace sim {
namespace {

using namespace std::chrono_literals;

// NIC names carry the bus and slot in decimal, PCI addresses in hexadecimal.
NicProfile NicAt(int bus, int slot, int numa_node) {
  return NicProfile{.name = absl::StrCat("rdmap", bus, "s", slot),
                    .pci_address = absl::StrFormat("0000:%02x:%02x.0", bus, slot),
                    .numa_node = numa_node};
}

// Limits of `efa-direct`, the device itself, as ofiwg/libfabric computes them
// (prov/efa/src/efa_prov_info.c) from the device attributes seen on p5.48xlarge
// (abcdabcd987/libfabric-efa-demo data/fi_info.yaml; ucx contrib/ibmock).
fabric::Limits EfaDirectLimits() {
  fabric::Limits limits;
  limits.address_bytes = 32;
  limits.send_queue_depth = 4096;
  limits.receive_queue_depth = 8192;
  limits.completion_queue_depth =
      16384;                        // 12288 asked for, rounded up to a power of two by the device
  limits.max_message_bytes = 8928;  // one packet: SRD has no segmentation
  limits.max_rma_bytes = 1ull << 30;
  limits.inject_bytes = 32;
  limits.send_segments = 2;
  limits.receive_segments = 3;
  limits.rma_segments = 1;
  limits.mtu_bytes = 8928;
  limits.key_bytes = 4;
  limits.immediate_bytes = 4;
  limits.max_endpoints = 256;
  limits.max_completion_queues = 512;
  limits.max_memory_regions = 262144;
  return limits;
}

// Common to all: delays are of the order of the published ping-pong figures (25 to 35 us a round
// trip for small messages), with the long tail that several paths give.
Profile EfaProfile() {
  Profile profile;
  profile.limits = EfaDirectLimits();
  profile.one_way = DelayModel{.fixed = 8us, .jitter = 6us, .tail_one_in = 64, .tail = 60us};
  profile.unresponsive_timeout = 2s;
  profile.rnr_delay = 50us;
  profile.post_cost = 150ns;
  profile.doorbell_cost = 200ns;
  profile.poll_cost = 40ns;
  return profile;
}

Profile SmallProfile() {
  Profile profile = EfaProfile();
  profile.name = "small";
  profile.description = "two NICs with short queues: the default, made for tests";
  profile.vendor_device_id = "1d0f:efa1";
  profile.nics = {NicAt(0x4f, 0, 0), NicAt(0x93, 0, 1)};
  profile.limits.send_queue_depth = 64;
  profile.limits.receive_queue_depth = 64;
  profile.limits.completion_queue_depth = 256;
  profile.limits.max_endpoints = 32;
  profile.limits.max_completion_queues = 64;
  profile.limits.max_memory_regions = 4096;
  return profile;
}

// p5.48xlarge: 8 switches of 4 NICs and one GPU; root bus ranges start at 0x44 + 0x11 * switch, the
// NICs sit 0x0b to 0x0e above (recorded hwloc topology of ai-dynamo/nixl, lspci of
// libfabric-efa-demo).
Profile P5Profile() {
  Profile profile = EfaProfile();
  profile.name = "p5";
  profile.description = "p5.48xlarge: 32 NICs of 100 Gbit/s";
  profile.vendor_device_id = "1d0f:efa1";
  for (int group = 0; group < 8; ++group) {
    for (int nic = 0; nic < 4; ++nic) {
      profile.nics.push_back(NicAt(0x44 + 0x11 * group + 0x0b + nic, 0, group < 4 ? 0 : 1));
    }
  }
  return profile;
}

const std::vector<Profile>& AllProfiles() {
  static const auto& profiles = *new std::vector<Profile>{SmallProfile(), P5Profile()};
  return profiles;
}

}  // namespace

std::span<const Profile> Profiles() { return AllProfiles(); }

absl::StatusOr<const Profile*> FindProfile(absl::string_view name) {
  for (const Profile& profile : AllProfiles()) {
    if (profile.name == name) return &profile;
  }
  return absl::NotFoundError(absl::StrCat(
      "no profile '", name, "': there are ",
      absl::StrJoin(AllProfiles(), ", ",
                    [](std::string* out, const Profile& profile) { out->append(profile.name); })));
}

}  // namespace sim
