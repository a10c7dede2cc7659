// What doctor knows of a machine before it judges: read once, from the system's files.

#ifndef DRYDOCK_APPS_DOCTOR_MACHINE_H_
#define DRYDOCK_APPS_DOCTOR_MACHINE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "drydock/apps/doctor/libraries.h"
#include "drydock/apps/doctor/system_files.h"
#include "drydock/apps/doctor/version.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps::doctor {

// A function of the PCI bus that is an EFA NIC.
struct Nic {
  std::string pci_address;  // 0000:4f:00.0
  std::string device_id;    // 0xefa1
  std::string driver;       // efa; empty: none has taken it
  std::string rdma_name;    // rdmap79s0; empty: it is no RDMA device
  std::string port_state;   // 4: ACTIVE
  std::string uverbs;       // uverbs0; empty: none
  bool is_given = false;  // its device file is there: a container may have those of some NICs only
  std::string peer_memory;  // what the driver's sysfs attribute p2p says; empty: no such attribute
  std::int64_t numa_node = -1;
  std::optional<std::int64_t> interrupts;  // vectors of its own
};

struct Gpu {
  std::string pci_address;
  bool nvidia = false;
};

struct MachineFacts {
  explicit MachineFacts(const SystemFiles& system) : files(system) {}

  const SystemFiles& files;
  std::string process = "/proc/self";              // the folder of the process that is looked at
  std::map<std::string, std::string> environment;  // of that process
  bool environment_known = false;                  // another user's process keeps it to itself
  std::string instance_type;                       // p5.48xlarge; empty: not told
  std::string instance_id;                         // i-0123; empty: not told
  bool on_ec2 = false;
  const sim::Profile* profile = nullptr;  // of the instance type; null: none is known
  std::optional<Version> kernel;
  std::string container;  // docker, kubernetes, ...; empty: none that can be seen
  std::vector<Nic> nics;  // by PCI address
  std::vector<Gpu> gpus;
  std::vector<LibraryCopy> libfabric;
  std::vector<LibraryCopy> libibverbs;
  std::vector<LibraryCopy> libefa;

  // A variable of the process; empty: not set, or set to nothing.
  std::string Variable(const std::string& name) const;
  bool has_efa() const { return !nics.empty(); }
  // The NICs that programs here find: those that are given, or all where none is.
  std::vector<Nic> GivenNics() const;
  bool has_nvidia_gpu() const;
};

// `process`: its number; 0: this program.
MachineFacts LookAround(const SystemFiles& files, std::uint64_t process);

// A field of a file of lines "Name:   value", such as /proc/meminfo; empty: not there.
std::string FieldOf(absl::string_view text, absl::string_view name);

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_MACHINE_H_
