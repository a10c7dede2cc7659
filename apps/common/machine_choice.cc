#include "drydock/apps/common/machine_choice.h"

#include <cstddef>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "drydock/apps/common/text_file.h"
#include "drydock/coro/status_macros.h"
#include "drydock/gpu/topology/hwloc_xml.h"
#include "drydock/sim/topology/topology_of.h"
#ifdef DRYDOCK_HAVE_HWLOC
#include "drydock/gpu/topology/this_machine.h"
#endif

ABSL_FLAG(
    std::string, topology, "",
    "The machine: a file of hwloc's XML (`lstopo machine.xml` writes one), or profile:NAME, a "
    "simulated machine. Without it: the one this program runs on.");

namespace drydock::apps {
namespace {

constexpr std::size_t kMaxFileBytes = 64 << 20;

absl::StatusOr<MachineChoice> ThisMachine() {
#ifdef DRYDOCK_HAVE_HWLOC
  ASSIGN_OR_RETURN(gpu::topology::Machine machine, gpu::topology::DiscoverThisMachine());
  return MachineChoice{std::move(machine), "this machine"};
#else
  return absl::UnimplementedError(
      "to look at this machine needs hwloc, which was not found when this program was built: "
      "install libhwloc-dev and build again, or name --topology=FILE or --topology=profile:NAME");
#endif
}

absl::StatusOr<MachineChoice> FromProfile(absl::string_view name) {
  ASSIGN_OR_RETURN(const sim::Profile* profile, sim::FindProfile(name));
  std::string source = absl::StrCat("profile ", profile->name);
  if (!profile->unknown.empty()) absl::StrAppend(&source, "; unknown: ", profile->unknown);
  return MachineChoice{sim::TopologyOf(*profile), std::move(source)};
}

absl::StatusOr<MachineChoice> FromFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTextFile(path, kMaxFileBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(
        absl::StrCat(text.status().message(), " (a profile is profile:NAME)"));
  }
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(gpu::topology::Machine machine, gpu::topology::ReadHwlocXml(*text));
  return MachineChoice{std::move(machine), absl::StrCat("file ", path)};
}

}  // namespace

std::string TopologyFromFlags() { return absl::GetFlag(FLAGS_topology); }

absl::StatusOr<MachineChoice> ChooseMachine(const std::string& topology) {
  absl::string_view profile = topology;
  if (topology.empty()) return ThisMachine();
  if (absl::ConsumePrefix(&profile, "profile:")) return FromProfile(profile);
  absl::StatusOr<MachineChoice> choice = FromFile(topology);
  if (choice.ok()) return choice;
  return absl::Status(choice.status().code(),
                      absl::StrCat("--topology=", topology, ": ", choice.status().message()));
}

}  // namespace drydock::apps
