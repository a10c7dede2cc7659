#include "drydock/sim/cluster/cluster.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/check.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {
namespace {

const Profile& ProfileNamed(std::string_view name) {
  const auto profile = FindProfile(absl::string_view(name.data(), name.size()));
  DD_CHECK(profile.ok(), "there is no such profile");
  return **profile;
}

// a, b, ... z, machine26, machine27: in logs and findings.
std::string NameOf(std::size_t machine) {
  constexpr std::size_t kLetters = 26;
  if (machine >= kLetters) return absl::StrCat("machine", machine);
  return std::string(1, static_cast<char>('a' + machine));
}

}  // namespace

Cluster::Cluster(std::size_t machines, const ClusterOptions& options)
    : world_(options.seed, ProfileNamed(options.profile)), loop_(world_) {
  for (std::size_t i = 0; i < machines; ++i) {
    machines_.push_back(&world_.AddNode(NameOf(i)));
    auto node = fabric::async::Node::Open(loop_, OpenSimFabric(world_, *machines_.back()));
    DD_CHECK(node.ok(), "a fresh simulated NIC has what a node needs");
    nodes_.push_back(*std::move(node));
  }
  const absl::Status introduced = fabric::async::Introduce(nodes_);
  DD_CHECK(introduced.ok(), "a NIC has address handles for all machines");
}

std::unique_ptr<fabric::Fabric> Cluster::AddMachine(std::string name) {
  return OpenSimFabric(world_, world_.AddNode(std::move(name)));
}

}  // namespace drydock::sim
