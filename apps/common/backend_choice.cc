#include "drydock/apps/common/backend_choice.h"

#include <algorithm>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

#ifdef DRYDOCK_HAVE_LIBFABRIC
#include "drydock/fabric/libfabric/api.h"
#include "drydock/fabric/libfabric/libfabric_fabric.h"
#include "drydock/fabric/libfabric/provider_selection.h"
#endif

ABSL_FLAG(
    std::string, fabric, "auto",
    "Where to run: sim (the simulated NIC, in this process), libfabric (a provider of the "
    "installed library), or auto: what --profile or --provider names, else EFA where a NIC is "
    "there (not for batch and affinity), else the simulator.");
ABSL_FLAG(std::string, provider, "",
          "What drives the NIC. efa-direct: the EFA device as it is. efa: the EFA provider's "
          "software protocol on top of it, with tags, long messages, atomics, and writes where the "
          "device has none. Both exist for real and, with --profile or --fabric=sim, simulated. "
          "tcp, shm and others that `info --list` shows: providers of libfabric. Without it: EFA, "
          "efa-direct if it is there.");
ABSL_FLAG(std::string, profile, "",
          "Machine that the simulator plays: one that `info --list` shows. Without it: small; for "
          "batch and affinity p5.");
ABSL_FLAG(std::uint64_t, seed, 1,
          "Everything random in a simulated run is drawn from this: the same seed gives the same "
          "run.");
ABSL_FLAG(std::string, nic, "", "Name of the NIC to use; without it: the first.");

namespace drydock::apps {
namespace {

#ifndef DRYDOCK_HAVE_LIBFABRIC
absl::Status NoLibfabric(absl::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat(what,
                   " needs libfabric, which was not found when this was built: install "
                   "libfabric-dev (Debian) or the EFA installer and build again"));
}
#endif

absl::StatusOr<std::unique_ptr<fabric::Fabric>> OpenProvider(const std::string& provider,
                                                             bool device_memory) {
#ifdef DRYDOCK_HAVE_LIBFABRIC
  return fabric::libfabric::OpenLibfabric(provider, {.device_memory = device_memory});
#else
  (void)device_memory;
  return NoLibfabric(absl::StrCat("provider '", provider, "'"));
#endif
}

// EFA under its two names: the device itself if the library knows it, else with the software
// protocol.
absl::StatusOr<std::unique_ptr<fabric::Fabric>> OpenEfa(bool device_memory) {
  absl::StatusOr<std::unique_ptr<fabric::Fabric>> direct =
      OpenProvider("efa-direct", device_memory);
  return direct.ok() ? std::move(direct) : OpenProvider("efa", device_memory);
}

// What to tell of a search for EFA that found no NIC.
const char* WhyNotEfa() {
#ifdef DRYDOCK_HAVE_LIBFABRIC
  return fabric::libfabric::RealApi().ok() ? "no EFA NIC here" : "no usable libfabric here";
#else
  return "built without libfabric";
#endif
}

// Empty: efa-direct.
absl::StatusOr<SimulatedFabric> FindSimulatedFabric(const std::string& name) {
  if (name.empty()) return SimulatedFabric::kEfaDirect;
  for (const SimulatedFabric fabric : SimulatedFabrics()) {
    if (name == NameOf(fabric)) return fabric;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--provider=", name, " is not simulated: efa-direct and efa are"));
}

absl::StatusOr<BackendChoice> Simulator(const BackendOptions& options, std::string reason) {
  BackendChoice choice;
  choice.simulated = true;
  ASSIGN_OR_RETURN(choice.simulated_fabric, FindSimulatedFabric(options.provider));
  choice.profile = &sim::Profiles().front();
  if (!options.profile.empty()) {
    const absl::StatusOr<const sim::Profile*> profile = sim::FindProfile(options.profile);
    if (!profile.ok()) return absl::InvalidArgumentError(profile.status().message());
    choice.profile = *profile;
  }
  choice.reason = std::move(reason);
  return choice;
}

// Refuses options that contradict each other.
absl::Status CheckOptions(const BackendOptions& options) {
  if (options.fabric != "sim" && options.fabric != "libfabric" && options.fabric != "auto") {
    return absl::InvalidArgumentError(
        absl::StrCat("--fabric=", options.fabric, " does not exist: sim, libfabric or auto"));
  }
  if (options.profile.empty()) return absl::OkStatus();
  const std::string profile = absl::StrCat("--profile=", options.profile, " is the simulator's: ");
  if (options.fabric == "libfabric") {
    return absl::InvalidArgumentError(
        absl::StrCat(profile, "it does not go with --fabric=libfabric"));
  }
  const absl::Status provider = FindSimulatedFabric(options.provider).status();
  if (!provider.ok()) return absl::InvalidArgumentError(absl::StrCat(profile, provider.message()));
  return absl::OkStatus();
}

}  // namespace

BackendOptions BackendOptionsFromFlags() {
  return {.fabric = absl::GetFlag(FLAGS_fabric),
          .provider = absl::GetFlag(FLAGS_provider),
          .profile = absl::GetFlag(FLAGS_profile),
          .seed = absl::GetFlag(FLAGS_seed),
          .nic = absl::GetFlag(FLAGS_nic)};
}

absl::StatusOr<BackendChoice> ChooseBackend(const BackendOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  if (options.fabric == "sim") return Simulator(options, "");
  if (!options.profile.empty()) return Simulator(options, "--profile names a simulated machine");
  BackendChoice choice;
  if (!options.provider.empty()) {
    ASSIGN_OR_RETURN(choice.fabric, OpenProvider(options.provider, options.device_memory));
    return choice;
  }
  absl::StatusOr<std::unique_ptr<fabric::Fabric>> efa = OpenEfa(options.device_memory);
  if (efa.ok()) {
    choice.fabric = *std::move(efa);
    if (options.fabric == "auto") choice.reason = "an EFA NIC is here";
    return choice;
  }
  if (options.fabric == "libfabric") return efa.status();
  return Simulator(options, WhyNotEfa());
}

absl::StatusOr<std::vector<ProviderOffer>> ListProviders() {
#ifdef DRYDOCK_HAVE_LIBFABRIC
  std::vector<ProviderOffer> offers;
  const auto add = [&offers](const std::string& name) {
    for (const ProviderOffer& offer : offers) {
      if (offer.name == name) return;
    }
    ProviderOffer& offer = offers.emplace_back();
    offer.name = name;
    const absl::StatusOr<std::unique_ptr<fabric::Fabric>> fabric = OpenProvider(name, false);
    if (!fabric.ok()) return;
    offer.nics = (*fabric)->nics().size();
    offer.layered = (*fabric)->nics().front().provider;
  };
  ASSIGN_OR_RETURN(fabric::libfabric::Api* const api, fabric::libfabric::RealApi());
  for (const std::string& name : fabric::libfabric::ProviderNames(*api)) {
    if (name == "efa") add("efa-direct");  // a fabric of that provider, and ours to choose by name
    add(name.substr(0, name.find(';')));
  }
  return offers;
#else
  return NoLibfabric("the list of providers");
#endif
}

}  // namespace drydock::apps
