#include "drydock/apps/explore/alltoall_scenario.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/alltoall/member.h"
#include "drydock/apps/alltoall/rounds.h"
#include "drydock/apps/alltoall/workload.h"
#include "drydock/apps/common/ranks/local_ranks.h"
#include "drydock/apps/common/ranks/ranks.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps {
namespace {

using alltoall::Member;
using alltoall::MemberOptions;
using alltoall::Results;
using alltoall::Workload;
using sim::explore::Needs;
using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Parameters;
using sim::explore::Trial;

constexpr std::array<Parameter, 3> kParameters = {
    Parameter{"machines", 3, 1, 16, "of two NICs each"},
    Parameter{"tokens", 6, 1, 1024, "of each machine, at most"},
    Parameter{"token_bytes", 64, 4, 1 << 16, "bytes of a token, rounded down to a multiple of 4"},
};
constexpr std::size_t kNics = 2;
constexpr std::size_t kWindow = 8;
// Of a phase: NICs may die in one after the other, and a run of two minutes that has not ended is
// taken for one that never will.
constexpr coro::Duration kPhaseTimeout = std::chrono::seconds(20);

Workload WorkloadOf(const Trial& trial) {
  Workload workload;
  workload.shape.ranks = static_cast<std::uint32_t>(trial.parameter("machines"));
  workload.shape.tokens = static_cast<std::uint32_t>(trial.parameter("tokens"));
  workload.shape.top_k = 3;
  workload.shape.experts_per_rank = 2;
  workload.shape.words = static_cast<std::uint32_t>(trial.parameter("token_bytes") / 4);
  workload.routing = static_cast<alltoall::Routing>(coro::Below(coro::Mix(trial.seed()), 3));
  workload.seed = trial.seed();
  workload.rounds = 2;
  return workload;
}

absl::StatusOr<Results> Play(Trial& trial) {
  const Workload workload = WorkloadOf(trial);
  MemberOptions options;
  options.nics = kNics;
  options.window = kWindow;
  options.timeout = kPhaseTimeout;
  options.in_place = trial.seed() % 2 == 0;
  options.rail_aligned = trial.seed() / 2 % 2 == 0;
  coro::EventLoop loop(trial.clock());
  const std::vector<std::unique_ptr<Ranks>> ranks = MakeLocalRanks(workload.shape.ranks);
  std::vector<std::unique_ptr<Member>> members;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    sim::Node& node = trial.world().AddNode(absl::StrCat("rank", rank));
    ASSIGN_OR_RETURN(auto fabric, trial.Decorate(sim::OpenSimFabric(trial.world(), node)));
    ASSIGN_OR_RETURN(members.emplace_back(),
                     Member::Open(loop, std::move(fabric), workload, rank, options));
  }
  return loop.Run(alltoall::PlayAll(members, ranks, {}));
}

class Scenario final : public sim::explore::Scenario {
 public:
  std::string_view name() const override { return "alltoall"; }
  std::string_view description() const override {
    return "dispatch and combine of a mixture of experts, by two NICs of each machine";
  }
  std::span<const Parameter> parameters() const override { return kParameters; }
  std::optional<Needs> needs(const Parameters& parameters) const override {
    // Every NIC knows those of all peers, and itself when it is asked for a sign of life. All of them
    // may write to it, each as much as its window has.
    const std::uint64_t peers = (parameters.at("machines") - 1) * kNics;
    return Needs{
        .registrations = 2, .address_handles = peers + 1, .completions = 2 * (peers + 1) * kWindow};
  }

  Outcome Run(Trial& trial) const override {
    const absl::StatusOr<Results> results = Play(trial);
    if (!results.ok()) return Outcome::Of(results.status());
    for (std::size_t rank = 0; rank < results->size(); ++rank) {
      if ((*results)[rank].wrong == 0) continue;
      return Outcome::WrongData(absl::StrCat((*results)[rank].wrong, " words of rank ", rank,
                                             "'s results are not the reference's"));
    }
    return Outcome::Of(absl::OkStatus());
  }
};

}  // namespace

const sim::explore::Scenario& AllToAllScenario() {
  static const Scenario scenario;
  return scenario;
}

}  // namespace drydock::apps
