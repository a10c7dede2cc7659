#include "drydock/apps/common/nic_choice.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace drydock::apps {
namespace {

using fabric::Capability;

// Features that the EFA provider adds in software where the device lacks them: its fabric `efa` has
// these and `efa-direct` has not (ofiwg/libfabric prov/efa/docs/efa_fabric_comparison.md).
constexpr Capability kInSoftware[] = {
    Capability::kRemoteWrite,     Capability::kRemoteRead,   Capability::kUnsolicitedImmediate,
    Capability::kLongMessages,    Capability::kSendOrder,    Capability::kTaggedMessages,
    Capability::kDirectedReceive, Capability::kMultiReceive, Capability::kCancel,
    Capability::kAtomics};

}  // namespace

absl::Status RequireCapabilities(const fabric::NicInfo& nic,
                                 std::span<const fabric::Capability> needed) {
  std::string lacking;
  bool software_helps = nic.fabric == "efa-direct";
  for (const fabric::CapabilityInfo& row : fabric::CapabilityTable()) {
    const bool is_needed = std::find(needed.begin(), needed.end(), row.capability) != needed.end();
    if (!is_needed || nic.capabilities.Has(row.capability)) continue;
    absl::StrAppend(&lacking, lacking.empty() ? "" : ", ",
                    absl::string_view(row.name.data(), row.name.size()));
    software_helps = software_helps && std::find(std::begin(kInSoftware), std::end(kInSoftware),
                                                 row.capability) != std::end(kInSoftware);
  }
  if (lacking.empty()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("NIC ", nic.name, " of ", nic.fabric, " lacks what this needs: ", lacking,
                   software_helps ? "; --provider=efa has it in software" : ""));
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

}  // namespace drydock::apps
