// The instance families, one small file each, and the parts that they are built from. For
// profiles.cc only.

#ifndef DRYDOCK_SIM_PROFILE_FAMILIES_H_
#define DRYDOCK_SIM_PROFILE_FAMILIES_H_

#include <string>

#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

Profile SmallProfile();
Profile P4dProfile();
Profile P5Profile();
Profile P5enProfile();
Profile P6B200Profile();
Profile P6B300Profile();
Profile P4deProfile();
Profile P5eProfile();
Profile P54xlargeProfile();
Profile C5nProfile();
Profile P3dnProfile();
Profile G5Profile();
Profile G6Profile();
Profile G7eProfile();
Profile Trn1Profile();
Profile Trn2Profile();
Profile P6eGb200Profile();
Profile Hpc7aProfile();
Profile C7gnProfile();
Profile C8gnProfile();

// The profile that all EFA devices start from. A family changes the fields that it knows better;
// the code that lists the profiles fills in Profile::limits.
Profile EfaProfile();

// The generations of EFA, as the EC2 user guide numbers them.
enum class Generation { kEfa1 = 1, kEfa2, kEfa3, kEfa4 };

// The common profile of a generation's devices, for a type that was not recorded.
Profile GenerationProfile(Generation generation);

// The common properties of one GPU model.
struct GpuModel {
  std::string name;
  std::string vendor_device_id;
};

// Where a device is: on which switch, and behind which processor; -1: unknown.
struct Place {
  int pcie_switch;
  int numa_node;
};

// The next switch, with function 0 of device 0 on this bus as its upstream port.
void AddSwitch(Profile& profile, int upstream_bus, double upstream_gbytes_per_s);
// The same for a host bridge without a switch that can be seen.
void AddHostBridge(Profile& profile);

// For devices whose place is not published.
constexpr Place kUnknownPlace{-1, -1};

// Function 0 of a PCI device. NIC names carry bus and slot in decimal, addresses in hexadecimal.
void AddNic(Profile& profile, Place place, int bus, int slot = 0);
void AddGpu(Profile& profile, const GpuModel& model, Place place, int bus, int slot = 0);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_PROFILE_FAMILIES_H_
