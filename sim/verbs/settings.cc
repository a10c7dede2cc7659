#include "drydock/sim/verbs/settings.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/hosts/sockets/network_name.h"
#include "drydock/sim/virtual_time/virtual_time.h"

namespace drydock::sim::verbs {
namespace {

using Variable = std::function<const char*(const char*)>;

template <typename Number>
absl::Status ReadNumber(const Variable& variable, const char* name, Number& number) {
  const char* text = variable(name);
  if (text == nullptr || text[0] == '\0') return absl::OkStatus();
  if (absl::SimpleAtoi(text, &number)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, "=", text, " is not a number up to ", std::numeric_limits<Number>::max()));
}

void ReadText(const Variable& variable, const char* name, std::string& text) {
  const char* given = variable(name);
  if (given != nullptr && given[0] != '\0') text = given;
}

absl::Status ReadFindings(const Variable& variable, FindingsMode& mode) {
  std::string text = "off";
  ReadText(variable, kFindingsVariable, text);
  if (text == "report") {
    mode = FindingsMode::kReport;
  } else if (text == "fail") {
    mode = FindingsMode::kFail;
  } else if (text != "off") {
    return absl::InvalidArgumentError(
        absl::StrCat(kFindingsVariable, "=", text, ": one of fail, report and off"));
  }
  return absl::OkStatus();
}

absl::Status ReadDelays(const Variable& variable, bool& delays) {
  std::string text = "on";
  ReadText(variable, kDelaysVariable, text);
  if (text != "on" && text != "off") {
    return absl::InvalidArgumentError(
        absl::StrCat(kDelaysVariable, "=", text, ": one of on and off"));
  }
  delays = text == "on";
  return absl::OkStatus();
}

bool IsWord(const std::string& text) {
  return !text.empty() && text.size() <= 32 && text[0] != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

// Where the machines of several computers meet, and by which key they know each other.
absl::Status ReadNetwork(const Variable& variable, Settings& settings) {
  ReadText(variable, kNetworkVariable, settings.network);
  ReadText(variable, kKeyVariable, settings.key);
  if (settings.network.empty()) return absl::OkStatus();
  const bool by_launcher = settings.network == "tcp";
  const absl::StatusOr<NetworkName> name =
      by_launcher ? NetworkOfLauncher(variable) : ParseNetworkName(settings.network);
  if (!name.ok()) {
    return absl::Status(
        name.status().code(),
        absl::StrCat(kNetworkVariable, "=", by_launcher ? "tcp: " : "", name.status().message()));
  }
  settings.network = name->Text();
  // Computers do not tell each other their zones.
  if (settings.zone != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(kZoneVariable, "=", settings.zone, ": the machines of ", kNetworkVariable, "=",
                     settings.network, " are in one availability zone"));
  }
  std::string home;
  ReadText(variable, "HOME", home);
  if (settings.key.empty() && home.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no key file: neither ", kKeyVariable, " nor HOME is set"));
  }
  if (settings.key.empty()) settings.key = absl::StrCat(home, "/.drydock-efa-key");
  return absl::OkStatus();
}

// In virtual time there is one process, and no other to meet.
absl::Status ReadVirtual(const Variable& variable, Settings& settings) {
  RETURN_IF_ERROR(ReadNumber(variable, kVirtualVariable, settings.virtual_process));
  std::string digest;
  ReadText(variable, kDigestVariable, digest);
  settings.digest = digest == "1";
  if (settings.virtual_process != 0) ReadText(variable, kRecordVariable, settings.record);
  constexpr std::uint32_t kMostSeconds = 1'000'000'000;  // 31 years
  std::uint32_t limit = 1;
  RETURN_IF_ERROR(ReadNumber(variable, kLimitVariable, limit));
  if (limit < 1 || limit > kMostSeconds) {
    return absl::InvalidArgumentError(absl::StrCat(
        kLimitVariable, "=", limit, ": seconds of virtual time, from 1 to ", kMostSeconds));
  }
  if (settings.virtual_process != 0 && !settings.network.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(kNetworkVariable, "=", settings.network,
                                                   ": in virtual time (", kVirtualVariable,
                                                   ") a machine is alone"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Settings> Settings::FromEnvironment(const Variable& variable) {
  Settings settings;
  ReadText(variable, kProfileVariable, settings.profile);
  ReadText(variable, kFabricVariable, settings.fabric);
  ReadText(variable, kFaultsVariable, settings.faults);
  ReadText(variable, kTraceVariable, settings.trace);
  ReadText(variable, kFindingsFileVariable, settings.findings_file);
  RETURN_IF_ERROR(ReadNumber(variable, kNicsVariable, settings.nics));
  RETURN_IF_ERROR(ReadNumber(variable, kSeedVariable, settings.seed));
  RETURN_IF_ERROR(ReadNumber(variable, kZoneVariable, settings.zone));
  RETURN_IF_ERROR(ReadDelays(variable, settings.delays));
  RETURN_IF_ERROR(ReadFindings(variable, settings.findings));
  RETURN_IF_ERROR(ReadNetwork(variable, settings));
  RETURN_IF_ERROR(ReadVirtual(variable, settings));
  if (!IsWord(settings.fabric)) {
    return absl::InvalidArgumentError(absl::StrCat(
        kFabricVariable, "=", settings.fabric,
        ": the name of a fabric has 1 to 32 letters, digits, - or _, and dots inside"));
  }
  return settings;
}

absl::StatusOr<Profile> Settings::MakeProfile() const {
  ASSIGN_OR_RETURN(const Profile* const found, FindProfile(profile));
  Profile made = *found;
  if (nics > made.nics.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(nics, " NICs: a machine of profile ", made.name, " has ", made.nics.size()));
  }
  if (nics != 0) made.nics.resize(nics);
  if (!delays) return WithoutDelays(std::move(made));
  return made;
}

}  // namespace drydock::sim::verbs
