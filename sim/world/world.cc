#include "drydock/sim/world/world.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/device/log_writer.h"
#include "drydock/sim/faults/fault_model.h"
#include "drydock/sim/world/freed_memory.h"

namespace drydock::sim {

namespace {

bool KeepsLog(const WorldOptions& options) {
  return options.clock == ClockKind::kVirtual && options.log;
}

}  // namespace

World::World(std::uint64_t seed, const Profile& profile, const WorldOptions& options)
    : undelayed_(options.delays ? std::nullopt : std::optional(WithoutDelays(profile))),
      profile_(undelayed_.has_value() ? *undelayed_ : profile),
      timeline_(options.clock, KeepsLog(options) ? &log_ : nullptr),
      wire_(seed, profile_),
      around_{.seed = seed,
              .timeline = timeline_,
              .deferred = deferred_,
              .operations = operations_,
              .wire = wire_,
              .bus = bus_,
              .observers = observers_,
              .nics = nics_},
      log_writer_(std::make_unique<LogWriter>(timeline_, log_)),
      checks_(std::make_unique<Checks>(timeline_, deferred_, operations_, bus_)) {
  const bool is_virtual = options.clock == ClockKind::kVirtual;
  if (KeepsLog(options)) observers_.Add(*log_writer_);
  if (is_virtual && !options.guest) {
    KeepFreedMemoryFromTheSecondWorld();
    checks_->WatchOwners();
  }
  if (!options.checks.value_or(is_virtual)) return;
  checks_->AddTo(observers_);
  timeline_.OnStuck([this] { checks_->Stuck(); });
}

World::~World() = default;

// ---- Machines ----

Node& World::AddNode(std::string name, const Profile& profile) {
  return AddNode(std::move(name), profile,
                 {.machine = static_cast<std::uint32_t>(nodes_.size()), .gids = {}});
}

Node& World::AddNode(std::string name, const Profile& profile, const NodeIdentity& identity) {
  std::vector<std::unique_ptr<Nic>> nics;
  for (std::size_t i = 0; i < profile.nics.size(); ++i) {
    nics.push_back(std::make_unique<Nic>(
        around_,
        Nic::Identity{.index = static_cast<std::uint32_t>(nics_.size()),
                      .machine = identity.machine,
                      .number = static_cast<std::uint32_t>(i),
                      .name = absl::StrCat(name, "/", profile.nics[i].name),
                      .gid = identity.gids.empty() ? Gid{} : identity.gids[i]},
        profile));
    nics.back()->state().zone = identity.zone;
    nics.back()->state().port.rail = RailOf(profile, i);
    nics_.Enter(nics.back()->state());
  }
  nodes_.push_back(std::make_unique<Node>(std::move(name), profile, std::move(nics)));
  return *nodes_.back();
}

void World::Block(Node& from, Node& to) {
  for (std::size_t i = 0; i < from.nic_count(); ++i) {
    for (std::size_t j = 0; j < to.nic_count(); ++j) {
      wire_.Block(from.nic(i).state().port, to.nic(j).state().port);
      to.nic(j).Silence(from.nic(i));
      from.nic(i).Silence(to.nic(j));
    }
  }
}

void World::Unblock(Node& from, Node& to) {
  for (std::size_t i = 0; i < from.nic_count(); ++i) {
    for (std::size_t j = 0; j < to.nic_count(); ++j) {
      wire_.Unblock(from.nic(i).state().port, to.nic(j).state().port);
    }
  }
}

// ---- Results ----

void World::CheckRequests() {
  processors_.FinishAll();
  checks_->CheckRequests();
}

void World::CheckEnd() {
  processors_.FinishAll();
  checks_->CheckEnd();
}

std::span<const Finding> World::findings() const { return checks_->findings(); }

// ---- Faults ----

void World::UseFaultEngine(std::shared_ptr<fabric::faults::FaultEngine> engine) {
  faults_ = std::make_unique<FaultModel>(timeline_, std::move(engine));
  around_.faults = faults_.get();
  observers_.Add(*faults_);
}

}  // namespace drydock::sim
