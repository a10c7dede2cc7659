// Chooses the fabric that a program runs on, by its flags or by the machine: --fabric, --provider,
// --profile, --seed, --nic.
//
// --provider means the same in both worlds: `efa-direct` is the device as it is, `efa` the software
// protocol on top of it, whether real or simulated. The simulator has these two and no others.

#ifndef DRYDOCK_APPS_COMMON_BACKEND_CHOICE_H_
#define DRYDOCK_APPS_COMMON_BACKEND_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/apps/common/simulated_fabric.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::apps {

// The flags, as values.
struct BackendOptions {
  std::string fabric = "auto";  // sim, libfabric, auto
  std::string provider;         // empty: EFA, the device itself where there is a choice
  std::string profile;          // of the simulator; empty: its default
  std::uint64_t seed = 1;       // of the simulator
  std::string nic;              // its name; empty: the first
  // Memory of GPUs will be registered. Set by the program: there is no flag for it.
  bool device_memory = false;
};

BackendOptions BackendOptionsFromFlags();

struct BackendChoice {
  bool simulated = false;
  const sim::Profile* profile = nullptr;                           // simulated
  SimulatedFabric simulated_fabric = SimulatedFabric::kEfaDirect;  // simulated
  std::unique_ptr<fabric::Fabric> fabric;                          // not simulated: open
  std::string reason;  // why, where the program chose by itself; one line

  // Calls the function for this kind of world and returns its result.
  template <typename InSimulator, typename OnFabric>
  auto Visit(const InSimulator& in_simulator, const OnFabric& on_fabric) const {
    return simulated ? in_simulator() : on_fabric();
  }
};

// Chooses. `auto` follows the other flags (a profile: the simulator, otherwise a provider:
// libfabric), then EFA where a NIC is there, then the simulator. Errors: kInvalidArgument for
// values that do not exist or do not go together, kNotFound for a provider that offers no NIC,
// kUnimplemented where libfabric was not found when this program was built, kFailedPrecondition
// where it cannot be loaded.
absl::StatusOr<BackendChoice> ChooseBackend(const BackendOptions& options);

// A provider of the installed libfabric, as --provider takes it.
struct ProviderOffer {
  std::string name;     // tcp
  std::string layered;  // with the library's layer for missing features: tcp;ofi_rxm; empty: no NIC
  std::size_t nics = 0;
};

// In the library's order. kUnimplemented and kFailedPrecondition: as above.
absl::StatusOr<std::vector<ProviderOffer>> ListProviders();

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_BACKEND_CHOICE_H_
