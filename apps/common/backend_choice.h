// Which fabric a program runs on, as its flags say or as it finds out: --fabric, --provider,
// --profile, --seed, --nic.

#ifndef APPS_COMMON_BACKEND_CHOICE_H_
#define APPS_COMMON_BACKEND_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fabric/fabric.h"
#include "sim/profile.h"

namespace apps {

// The flags, as values.
struct BackendOptions {
  std::string fabric = "auto";  // sim, libfabric, auto
  std::string provider;         // of libfabric; empty: EFA
  std::string profile;          // of the simulator; empty: its default
  std::uint64_t seed = 1;       // of the simulator
  std::string nic;              // its name; empty: the first
};

BackendOptions BackendOptionsFromFlags();

struct BackendChoice {
  bool simulated = false;
  const sim::Profile* profile = nullptr;   // simulated
  std::unique_ptr<fabric::Fabric> fabric;  // not simulated: open
  std::string reason;                      // why, where the program chose by itself; one line
};

// Decides. `auto` takes what is named (a provider: libfabric, a profile: the simulator), then EFA
// where a NIC is there, then the simulator. Errors: kInvalidArgument for values that do not exist
// or do not go together, kNotFound for a provider that offers no NIC, kUnimplemented where
// libfabric was not found when this program was built.
absl::StatusOr<BackendChoice> ChooseBackend(const BackendOptions& options);

// A provider of the installed libfabric, as --provider takes it.
struct ProviderOffer {
  std::string name;     // tcp
  std::string layered;  // how the library makes up what is missing: tcp;ofi_rxm; empty: no NIC
  std::size_t nics = 0;
};

// In the library's order. kUnimplemented where libfabric was not found when this program was built.
absl::StatusOr<std::vector<ProviderOffer>> ListProviders();

// Index of the NIC called `name` (empty: the first). kNotFound lists the names.
absl::StatusOr<std::size_t> FindNic(const fabric::Fabric& fabric, const std::string& name);

}  // namespace apps

#endif  // APPS_COMMON_BACKEND_CHOICE_H_
