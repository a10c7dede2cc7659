#include "drydock/apps/info/report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/report/result_table.h"
#include "drydock/apps/common/text_table.h"
#include "drydock/apps/info/limit_table.h"
#include "drydock/sim/profile/profile.h"
#include "nlohmann/json.hpp"

namespace drydock::apps::info {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

constexpr absl::string_view NameOf(fabric::LinkState state) {
  switch (state) {
    case fabric::LinkState::kUp:
      return "up";
    case fabric::LinkState::kDown:
      return "down";
    case fabric::LinkState::kUnknown:
      break;
  }
  return "unknown";
}

constexpr absl::string_view MeaningOf(SimulatedFabric fabric) {
  return fabric == SimulatedFabric::kEfa
             ? "the EFA provider's software protocol on top of the device"
             : "the EFA device as it is (the default)";
}

std::string OrDash(std::string text) { return text.empty() ? "-" : text; }

std::string Line(absl::string_view label, absl::string_view text) {
  return text.empty() ? "" : absl::StrFormat("%-9s%s\n", label, text);
}

// "a, b, c", broken into lines.
std::string Wrapped(const std::vector<std::string>& names) {
  constexpr std::size_t kWidth = 98;
  std::string text;
  std::size_t column = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string word = names[i] + (i + 1 < names.size() ? "," : "\n");
    const bool fits = i == 0 || column + 1 + word.size() <= kWidth;
    absl::StrAppend(&text, i == 0 ? "" : fits ? " " : "\n", word);
    column = fits ? column + (i == 0 ? 0 : 1) + word.size() : word.size();
  }
  return text;
}

// One line for each NIC: those that differ in nothing but their fabric share one.
std::string NicTable(const std::vector<fabric::NicInfo>& nics) {
  constexpr std::size_t kFabric = 5;
  Rows rows = {{"NIC", "PCI address", "NUMA node", "Gbit/s", "state", "fabric", "provider"}};
  for (const fabric::NicInfo& nic : nics) {
    std::vector<std::string> row = {OrDash(nic.name),
                                    OrDash(nic.pci_address),
                                    nic.numa_node < 0 ? "-" : absl::StrCat(nic.numa_node),
                                    nic.link_gbps > 0 ? absl::StrCat(nic.link_gbps) : "-",
                                    std::string(NameOf(nic.link_state)),
                                    "",
                                    OrDash(nic.provider)};
    const auto same = std::find_if(rows.begin() + 1, rows.end(), [&](const auto& other) {
      row[kFabric] = other[kFabric];
      return row == other;
    });
    if (same != rows.end()) {
      absl::StrAppend(&(*same)[kFabric], ", ", OrDash(nic.fabric));
    } else {
      row[kFabric] = OrDash(nic.fabric);
      rows.push_back(std::move(row));
    }
  }
  return FormatTable(rows);
}

// NICs that are the same in some respect, in the order of their first.
using Group = std::vector<const fabric::NicInfo*>;

template <typename Same>
std::vector<Group> GroupBy(const std::vector<fabric::NicInfo>& nics, Same same) {
  std::vector<Group> groups;
  for (const fabric::NicInfo& nic : nics) {
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const Group& group) { return same(*group.front(), nic); });
    if (found != groups.end()) {
      found->push_back(&nic);
    } else {
      groups.push_back({&nic});
    }
  }
  return groups;
}

bool SameLimits(const fabric::NicInfo& a, const fabric::NicInfo& b) {
  return std::all_of(LimitTable().begin(), LimitTable().end(), [&](const LimitRow& row) {
    return row.value(a.limits) == row.value(b.limits);
  });
}

bool SameCapabilities(const fabric::NicInfo& a, const fabric::NicInfo& b) {
  return a.capabilities == b.capabilities;
}

bool SameFabric(const fabric::NicInfo& a, const fabric::NicInfo& b) { return a.fabric == b.fabric; }

// "Limits (the same for all NICs)", "Limits of rdmap79s0, rdmap80s0"; where there are several
// fabrics also "Limits on efa (the same for all NICs)".
std::string Heading(absl::string_view what, const Group& group,
                    const std::vector<fabric::NicInfo>& nics) {
  if (nics.size() > 1 && group.size() == nics.size()) {
    return absl::StrCat("\n", what, " (the same for all NICs)\n\n");
  }
  const std::vector<Group> fabrics = GroupBy(nics, SameFabric);
  for (const Group& fabric : fabrics) {
    if (fabrics.size() == 1 || fabric.size() == 1 || fabric != group) continue;
    return absl::StrCat("\n", what, " on ", fabric.front()->fabric, " (the same for all NICs)\n\n");
  }
  std::vector<std::string> names;
  for (const fabric::NicInfo* nic : group) {
    names.push_back(nic->name);
    if (fabrics.size() > 1) absl::StrAppend(&names.back(), " on ", nic->fabric);
  }
  names.front() = absl::StrCat(what, " of ", names.front());
  return absl::StrCat("\n", Wrapped(names), "\n");
}

std::string LimitsText(const fabric::Limits& limits) {
  Rows rows = {{"limit", "value", "meaning"}};
  for (const LimitRow& row : LimitTable()) {
    rows.push_back({std::string(row.name), FormatLimit(row, limits), std::string(row.meaning)});
  }
  return FormatTable(rows);
}

std::string CapabilitiesText(const fabric::CapabilitySet& capabilities) {
  Rows rows = {{"capability", "meaning"}};
  std::vector<std::string> lacking;
  for (const fabric::CapabilityInfo& row : fabric::CapabilityTable()) {
    if (capabilities.Has(row.capability)) {
      rows.push_back({std::string(row.name), std::string(row.meaning)});
    } else {
      lacking.emplace_back(row.name);
    }
  }
  std::string text = FormatTable(rows);
  if (!lacking.empty()) {
    lacking.front().insert(0, "not here: ");
    absl::StrAppend(&text, "\n", Wrapped(lacking));
  }
  return text;
}

Json LimitsJson(const fabric::Limits& limits) {
  Json json = Json::object();
  for (const LimitRow& row : LimitTable()) json[std::string(row.name)] = row.value(limits);
  return json;
}

Json NicJson(const fabric::NicInfo& nic) {
  Json json;
  json["name"] = nic.name;
  json["domain"] = nic.domain;
  json["provider"] = nic.provider;
  json["fabric"] = nic.fabric;
  json["pci_address"] = nic.pci_address;
  json["vendor_device_id"] = nic.vendor_device_id;
  json["address_format"] = nic.address_format;
  json["numa_node"] = nic.numa_node;
  json["link_gbps"] = nic.link_gbps;
  json["link_state"] = std::string(NameOf(nic.link_state));
  json["limits"] = LimitsJson(nic.limits);
  json["capabilities"] = Json::array();
  for (const fabric::CapabilityInfo& row : fabric::CapabilityTable()) {
    if (nic.capabilities.Has(row.capability)) {
      json["capabilities"].push_back(std::string(row.name));
    }
  }
  return json;
}

// Names come from outside, and need not be UTF-8.
std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string FormatReport(const Report& report) {
  std::string profile = report.profile;
  if (!report.profile_description.empty()) {
    absl::StrAppend(&profile, " (", report.profile_description, ")");
  }
  std::string others = absl::StrJoin(report.others, ", --provider=");
  if (!others.empty()) others.insert(0, "--provider=");
  std::string text =
      absl::StrCat(Line("fabric", report.fabric), Line("or", others),
                   Line("because", report.reason), Line("profile", profile),
                   Line("unknown", report.profile_unknown), "\n", NicTable(report.nics));
  for (const Group& group : GroupBy(report.nics, SameLimits)) {
    absl::StrAppend(&text, Heading("Limits", group, report.nics),
                    LimitsText(group.front()->limits));
  }
  for (const Group& group : GroupBy(report.nics, SameCapabilities)) {
    absl::StrAppend(&text, Heading("Capabilities", group, report.nics),
                    CapabilitiesText(group.front()->capabilities));
  }
  return text;
}

std::string FormatJson(const Report& report) {
  Json json;
  json["fabric"] = report.fabric;
  json["others"] = report.others;
  json["simulated"] = report.simulated;
  json["profile"] = report.profile;
  json["unknown"] = report.profile_unknown;
  json["reason"] = report.reason;
  json["nics"] = Json::array();
  for (const fabric::NicInfo& nic : report.nics) json["nics"].push_back(NicJson(nic));
  return Dump(json);
}

std::string FormatCsv(const Report& report) {
  ResultTable table("info", Origin::kFound,
                    {{"name"},
                     {"domain"},
                     {"provider"},
                     {"fabric"},
                     {"pci_address"},
                     {"vendor_device_id"},
                     {"numa_node"},
                     {"link_gbps"},
                     {"link_state"},
                     {"simulated"}});
  for (const fabric::NicInfo& nic : report.nics) {
    table.AddRow({TextCell(nic.name), TextCell(nic.domain), TextCell(nic.provider),
                  TextCell(nic.fabric), TextCell(nic.pci_address), TextCell(nic.vendor_device_id),
                  SignedCell(nic.numa_node), NumberCell(nic.link_gbps, 0),
                  TextCell(std::string(NameOf(nic.link_state))), YesCell(report.simulated)});
  }
  return ToCsv(table);
}

std::string FormatListCsv(const Providers& providers) {
  ResultTable table("info", Origin::kFound, {{"kind"}, {"name"}, {"nics"}, {"description"}});
  for (const sim::Profile& profile : sim::Profiles()) {
    table.AddRow({TextCell("profile"), TextCell(profile.name), CountCell(profile.nics.size()),
                  TextCell(profile.description)});
  }
  for (const SimulatedFabric fabric : SimulatedFabrics()) {
    table.AddRow({TextCell("fabric"), TextCell(std::string(NameOf(fabric))), NoCell(),
                  TextCell(std::string(MeaningOf(fabric)))});
  }
  if (!providers.ok()) return ToCsv(table);
  for (const ProviderOffer& offer : *providers) {
    table.AddRow({TextCell("provider"), TextCell(offer.name), CountCell(offer.nics),
                  TextCell(offer.layered)});
  }
  return ToCsv(table);
}

std::string FormatList(const Providers& providers) {
  Rows profiles = {{"profile", "machine", "also called"}};
  for (const sim::Profile& profile : sim::Profiles()) {
    profiles.push_back(
        {profile.name, profile.description, OrDash(absl::StrJoin(profile.aliases, ", "))});
  }
  Rows fabrics = {{"fabric", "what it is"}};
  for (const SimulatedFabric fabric : SimulatedFabrics()) {
    fabrics.push_back({std::string(NameOf(fabric)), std::string(MeaningOf(fabric))});
  }
  std::string text =
      absl::StrCat("Simulated machines, for --profile=NAME\n\n", FormatTable(profiles),
                   "\nTheir fabrics, for --provider=NAME beside it\n\n", FormatTable(fabrics),
                   "\nReal providers, for --provider=NAME alone\n\n");
  if (!providers.ok()) return absl::StrCat(text, std::string(providers.status().message()), "\n");
  Rows offers = {{"provider", "NICs", "opened as"}};
  for (const ProviderOffer& offer : *providers) {
    offers.push_back({offer.name, absl::StrCat(offer.nics), OrDash(offer.layered)});
  }
  return text + FormatTable(offers);
}

std::string FormatListJson(const Providers& providers) {
  Json json;
  json["profiles"] = Json::array();
  for (const sim::Profile& profile : sim::Profiles()) {
    json["profiles"].push_back({{"name", profile.name},
                                {"description", profile.description},
                                {"aliases", profile.aliases},
                                {"nics", profile.nics.size()}});
  }
  json["fabrics"] = Json::array();
  for (const SimulatedFabric fabric : SimulatedFabrics()) {
    json["fabrics"].push_back(
        {{"name", std::string(NameOf(fabric))}, {"description", std::string(MeaningOf(fabric))}});
  }
  json["providers"] = Json::array();
  if (!providers.ok()) return Dump(json);
  for (const ProviderOffer& offer : *providers) {
    json["providers"].push_back(
        {{"name", offer.name}, {"opened_as", offer.layered}, {"nics", offer.nics}});
  }
  return Dump(json);
}

}  // namespace drydock::apps::info
