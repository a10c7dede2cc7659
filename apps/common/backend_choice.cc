#include "apps/common/backend_choice.h"

#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coro/status_macros.h"

#ifdef DRYDOCK_HAVE_LIBFABRIC
#include "fabric/libfabric/libfabric_fabric.h"
#endif

ABSL_FLAG(std::string, fabric, "auto",
          "Where to run: sim (the simulated NIC, in this process), libfabric (a provider of the "
          "installed library), or "
          "auto: EFA where a NIC is there, else the simulator.");
ABSL_FLAG(
    std::string, provider, "",
    "Provider of libfabric: efa-direct, efa, tcp, shm, or another that `fi_info -l` lists. Implies "
    "--fabric=libfabric; empty means EFA.");
ABSL_FLAG(std::string, profile, "small",
          "Machine that the simulator plays: small (for tests) or p5.");
ABSL_FLAG(
    std::uint64_t, seed, 1,
    "Everything random in a simulated run is drawn from this: the same seed gives the same run.");
ABSL_FLAG(std::string, nic, "", "Name of the NIC to use; empty means the first.");

namespace apps {
namespace {

absl::StatusOr<std::unique_ptr<fabric::Fabric>> OpenProvider(const std::string& provider) {
#ifdef DRYDOCK_HAVE_LIBFABRIC
  return fabric::libfabric::OpenLibfabric(provider);
#else
  return absl::UnimplementedError(
      absl::StrCat("provider '", provider,
                   "' needs libfabric, which was not found when this was built: install "
                   "libfabric-dev (Debian) or the EFA installer and build again"));
#endif
}

// EFA under its two names: the device itself if the library knows it, else with the software
// protocol.
absl::StatusOr<std::unique_ptr<fabric::Fabric>> OpenEfa() {
  absl::StatusOr<std::unique_ptr<fabric::Fabric>> direct = OpenProvider("efa-direct");
  return direct.ok() ? std::move(direct) : OpenProvider("efa");
}

absl::StatusOr<BackendChoice> Simulator(const BackendOptions& options, std::string reason) {
  absl::StatusOr<const sim::Profile*> profile = sim::FindProfile(options.profile);
  if (!profile.ok()) return absl::InvalidArgumentError(profile.status().message());
  BackendChoice choice;
  choice.simulated = true;
  choice.profile = *profile;
  choice.reason = std::move(reason);
  return choice;
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
  if (options.fabric == "sim") {
    if (!options.provider.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--provider=", options.provider, " does not go with --fabric=sim"));
    }
    return Simulator(options, "");
  }
  if (options.fabric != "libfabric" && options.fabric != "auto") {
    return absl::InvalidArgumentError(
        absl::StrCat("--fabric=", options.fabric, " does not exist: sim, libfabric or auto"));
  }
  BackendChoice choice;
  if (!options.provider.empty()) {
    ASSIGN_OR_RETURN(choice.fabric, OpenProvider(options.provider));
    return choice;
  }
  absl::StatusOr<std::unique_ptr<fabric::Fabric>> efa = OpenEfa();
  if (efa.ok()) {
    choice.fabric = *std::move(efa);
    if (options.fabric == "auto") choice.reason = "an EFA NIC is here";
    return choice;
  }
  if (options.fabric == "libfabric") return efa.status();
  return Simulator(options, "no EFA NIC here");
}

absl::StatusOr<std::size_t> FindNic(const fabric::Fabric& fabric, const std::string& name) {
  if (name.empty()) return 0;
  const auto nics = fabric.nics();
  for (std::size_t i = 0; i < nics.size(); ++i) {
    if (nics[i].name == name) return i;
  }
  return absl::NotFoundError(absl::StrCat(
      "no NIC '", name, "': there are ",
      absl::StrJoin(nics, ", ",
                    [](std::string* out, const fabric::NicInfo& nic) { out->append(nic.name); })));
}

}  // namespace apps
