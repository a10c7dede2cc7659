// The info program: see README.md in this folder.

#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/backend_choice.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/nic_choice.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/info/fi_info.h"
#include "drydock/apps/info/report.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/world/world.h"

ABSL_FLAG(std::string, format, "",
          "table (the default): for a person. json, csv: as --json and --csv. fi_info: the "
          "text of libfabric's `fi_info -v`, as far as it is known here; for a simulated machine, "
          "all entries of the EFA provider.");
ABSL_FLAG(bool, verbose, false, "Short for --format=fi_info.");
ABSL_FLAG(
    bool, list, false,
    "Print the simulated machines that --profile takes and their fabrics, and the providers of "
    "the installed libfabric that --provider takes.");

namespace drydock::apps::info {
namespace {

const Usage kUsage = {
    .name = "info",
    .summary = "prints the NICs of a fabric, their limits and their capabilities.",
    .synopsis =
        "[--profile=NAME] [--provider=NAME] [--nic=NAME] [--format=table|json|csv|fi_info]\n"
        "--list [--json|--csv]",
    .examples =
        "  info                              what programs here run on if nothing is said\n"
        "  info --list                       what there is to choose from\n"
        "  info --profile=p5                 a simulated p5.48xlarge, on both of its fabrics\n"
        "  info --profile=p5 --provider=efa  the same on one\n"
        "  info --profile=p5 --verbose       what fi_info -v prints there\n"
        "  info --provider=tcp --json        a real provider, for a script\n"
        "\nExit status: 0 shown, 1 it failed, 2 bad input.",
};

// What was found, in the terms of both kinds of output.
struct Findings {
  Report report;
  std::vector<FiInfo> fi_infos;
};

void KeepOnly(const std::string& nic, Findings& found) {
  std::erase_if(found.report.nics, [&](const fabric::NicInfo& info) { return info.name != nic; });
  std::erase_if(found.fi_infos, [&](const FiInfo& entry) { return entry.nic.name != nic; });
}

void Add(const fabric::Fabric& fabric, Findings& found) {
  const auto nics = fabric.nics();
  found.report.nics.insert(found.report.nics.end(), nics.begin(), nics.end());
}

// Without --provider a simulated machine shows both of its fabrics, as fi_getinfo does.
absl::StatusOr<Findings> Simulated(const BackendOptions& options, const BackendChoice& choice) {
  sim::World world(options.seed, *choice.profile);
  sim::Node& node = world.AddNode("here");
  Findings found;
  const auto chosen = OpenSimulatedFabric(choice.simulated_fabric, world, node);
  RETURN_IF_ERROR(FindNic(*chosen, options.nic).status());
  found.report.fabric = std::string(chosen->description());
  found.report.simulated = true;
  found.report.profile = choice.profile->name;
  found.report.profile_description = choice.profile->description;
  found.report.profile_unknown = choice.profile->unknown;
  for (const SimulatedFabric fabric : SimulatedFabrics()) {
    const bool is_chosen = fabric == choice.simulated_fabric;
    if (!is_chosen && !options.provider.empty()) continue;
    Add(*OpenSimulatedFabric(fabric, world, node), found);
    if (!is_chosen) found.report.others.emplace_back(NameOf(fabric));
  }
  const auto device = OpenSimulatedFabric(SimulatedFabric::kEfaDirect, world, node);
  found.fi_infos = EfaProviderList(*choice.profile, device->nics());
  if (!options.provider.empty()) {
    std::erase_if(found.fi_infos,
                  [&](const FiInfo& entry) { return entry.nic.fabric != options.provider; });
  }
  return found;
}

absl::StatusOr<Findings> Real(const BackendOptions& options, const BackendChoice& choice) {
  RETURN_IF_ERROR(FindNic(*choice.fabric, options.nic).status());
  Findings found;
  found.report.fabric = std::string(choice.fabric->description());
  Add(*choice.fabric, found);
  found.fi_infos = RealProviderList(choice.fabric->nics());
  return found;
}

absl::StatusOr<Findings> Find(const BackendOptions& options) {
  ASSIGN_OR_RETURN(const BackendChoice choice, ChooseBackend(options));
  ASSIGN_OR_RETURN(Findings found, choice.Visit([&] { return Simulated(options, choice); },
                                                [&] { return Real(options, choice); }));
  found.report.reason = choice.reason;
  if (!options.nic.empty()) KeepOnly(options.nic, found);
  return found;
}

// table, json, csv or fi_info.
absl::StatusOr<std::string> Format() {
  std::vector<std::string> asked;
  if (!absl::GetFlag(FLAGS_format).empty()) asked.push_back(absl::GetFlag(FLAGS_format));
  ASSIGN_OR_RETURN(const OutputForm form, OutputFormFromFlags());
  if (form != OutputForm::kText) {
    asked.emplace_back(form == OutputForm::kJson ? "json" : "csv");
  }
  if (absl::GetFlag(FLAGS_verbose)) asked.emplace_back("fi_info");
  if (asked.empty()) return "table";
  for (const std::string& format : asked) {
    if (format != "table" && format != "json" && format != "csv" && format != "fi_info") {
      return absl::InvalidArgumentError(
          absl::StrCat("--format=", format, " does not exist: table, json, csv or fi_info"));
    }
    if (format != asked.front()) {
      return absl::InvalidArgumentError(
          absl::StrCat("choose one format: ", asked.front(), " or ", format));
    }
  }
  return asked.front();
}

absl::StatusOr<std::string> ListText(const BackendOptions& options, const std::string& format) {
  if (!options.profile.empty() || !options.provider.empty() || !options.nic.empty() ||
      options.fabric != "auto") {
    return absl::InvalidArgumentError("--list shows all there is: leave out what chooses from it");
  }
  if (format == "fi_info") {
    return absl::InvalidArgumentError("--list comes as a table, JSON or CSV, not as fi_info");
  }
  if (format == "csv") return FormatListCsv(ListProviders());
  return format == "json" ? FormatListJson(ListProviders()) : FormatList(ListProviders());
}

absl::StatusOr<std::string> Text(const std::vector<std::string>& positional) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument: ", positional.front(), " (--help shows the flags)"));
  }
  ASSIGN_OR_RETURN(const std::string format, Format());
  const BackendOptions options = BackendOptionsFromFlags();
  if (absl::GetFlag(FLAGS_list)) return ListText(options, format);
  ASSIGN_OR_RETURN(const Findings found, Find(options));
  if (format == "json") return FormatJson(found.report);
  if (format == "csv") return FormatCsv(found.report);
  if (format == "fi_info") return FormatFiInfo(found.fi_infos);
  return FormatReport(found.report);
}

}  // namespace
}  // namespace drydock::apps::info

int main(int argc, char** argv) {
  return drydock::apps::PrintMain(argc, argv, drydock::apps::info::kUsage,
                                  drydock::apps::info::Text);
}
