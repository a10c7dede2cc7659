#include "drydock/sim/hosts/sockets/network_name.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace drydock::sim {
namespace {

constexpr std::uint32_t kFirstPort = 20000;
constexpr std::uint32_t kPorts = 10000;

std::uint16_t PortOf(std::uint64_t job) {
  return static_cast<std::uint16_t>(kFirstPort + job % kPorts);
}

// The first name of "rack[2-3]node[08-11,20]-efa,other": rack2node08-efa.
std::string FirstOf(absl::string_view list) {
  std::string first;
  while (!list.empty() && list.front() != ',') {
    const bool one_of_many = absl::ConsumePrefix(&list, "[");
    absl::StrAppend(&first, list.substr(0, list.find_first_of(one_of_many ? "-,]" : "[,")));
    const std::size_t end = one_of_many ? list.find(']') : list.find_first_of("[,");
    list.remove_prefix(std::min(list.size(), end));
    if (one_of_many) absl::ConsumePrefix(&list, "]");
  }
  return first;
}

absl::Status Unknown(const char* variable, absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat(variable, "=", text, " is not understood: name the host and port"));
}

absl::StatusOr<NetworkName> OfSlurm(const char* nodes, const char* job, const char* step) {
  std::uint64_t job_number = 0;
  std::uint64_t step_number = 0;
  if (job == nullptr || !absl::SimpleAtoi(job, &job_number)) {
    return Unknown("SLURM_JOB_ID", job == nullptr ? "" : job);
  }
  if (step != nullptr) (void)absl::SimpleAtoi(step, &step_number);  // of a batch script: none
  const std::string host = FirstOf(nodes);
  if (host.empty()) return Unknown("SLURM_STEP_NODELIST", nodes);
  return NetworkName{.host = host, .port = PortOf(31 * job_number + step_number)};
}

// "1234567890.0;tcp://10.0.0.1,172.17.0.1:40001"
absl::StatusOr<NetworkName> OfOpenMpi(absl::string_view uri) {
  constexpr char kVariable[] = "OMPI_MCA_orte_hnp_uri";
  const std::vector<absl::string_view> parts = absl::StrSplit(uri, ';');
  std::uint64_t job = 0;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0].substr(0, parts[0].find('.')), &job)) {
    return Unknown(kVariable, uri);
  }
  for (absl::string_view part : parts) {
    if (!absl::ConsumePrefix(&part, "tcp://")) continue;
    const absl::string_view host = part.substr(0, part.find_first_of(",:"));
    if (host.empty()) break;
    // Jobs of one mpirun differ in the lower half, those of others in the upper one.
    return NetworkName{.host = std::string(host), .port = PortOf(job ^ job >> 16)};
  }
  return Unknown(kVariable, uri);
}

}  // namespace

std::string NetworkName::Text() const {
  const bool six = absl::StrContains(host, ":");
  return absl::StrCat("tcp://", six ? "[" : "", host, six ? "]" : "", ":", port);
}

absl::StatusOr<NetworkName> ParseNetworkName(absl::string_view text) {
  absl::string_view rest = text;
  NetworkName name;
  const std::size_t colon = rest.rfind(':');
  std::uint32_t port = 0;
  bool sound = absl::ConsumePrefix(&rest, "tcp://") && colon > text.size() - rest.size() &&
               colon != absl::string_view::npos &&
               absl::SimpleAtoi(text.substr(colon + 1), &port) && port > 0 && port < 65536;
  if (sound) {
    absl::string_view host = rest.substr(0, rest.rfind(':'));
    const bool bracket = absl::ConsumePrefix(&host, "[");
    sound = bracket == absl::ConsumeSuffix(&host, "]") && !host.empty() &&
            bracket == absl::StrContains(host, ":");
    name.host = std::string(host);
    name.port = static_cast<std::uint16_t>(port);
  }
  if (sound) return name;
  return absl::InvalidArgumentError(
      absl::StrCat(text, ": a network is tcp://HOST:PORT, or tcp under Slurm or Open MPI 4"));
}

absl::StatusOr<NetworkName> NetworkOfLauncher(
    const std::function<const char*(const char*)>& variable) {
  // Before Slurm: in a batch job mpirun has srun start its daemons on all nodes but its own, and
  // what those start sees a step without mpirun's node.
  if (const char* uri = variable("OMPI_MCA_orte_hnp_uri")) return OfOpenMpi(uri);
  const bool by_prte = variable("PRTE_LAUNCHED") != nullptr && variable("PMIX_RANK") != nullptr;
  if (variable("OMPI_COMM_WORLD_RANK") != nullptr || by_prte) {
    return absl::NotFoundError("Open MPI 5 does not tell the host: name the host and port");
  }
  if (const char* nodes = variable("SLURM_STEP_NODELIST")) {
    return OfSlurm(nodes, variable("SLURM_JOB_ID"), variable("SLURM_STEP_ID"));
  }
  return absl::NotFoundError(
      "neither Slurm's nor Open MPI 4's environment is here: name the host and "
      "port");
}

}  // namespace drydock::sim
