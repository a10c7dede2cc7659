#include "sim/world.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coro/check.h"
#include "sim/faults/fault_model.h"
#include "sim/random.h"
#include "sim/scheduling.h"

namespace sim {

World::World(std::uint64_t seed, const Profile& profile, TimeMode mode)
    : seed_(seed),
      profile_(profile),
      live_(mode == TimeMode::kLive),
      start_(live_ ? steady_.Now() : kStart),
      now_(start_),
      wire_(seed, profile) {
  checks_.memory().set_clock([this] { return Elapsed(); });
}

World::~World() = default;

absl::Status World::UseFaultEngine(std::shared_ptr<fabric::faults::FaultEngine> engine) {
  if (live_) return absl::UnimplementedError("fault plan: devices apply none in live mode");
  faults_ = std::make_unique<FaultModel>(*this, std::move(engine));
  return absl::OkStatus();
}

Node& World::AddNode(std::string name, const Profile& profile) {
  return AddNode(std::move(name), profile,
                 {.machine = static_cast<std::uint32_t>(nodes_.size()), .gids = {}});
}

Node& World::AddNode(std::string name, const Profile& profile, const NodeIdentity& identity) {
  std::vector<std::unique_ptr<Nic>> nics;
  for (std::size_t i = 0; i < profile.nics.size(); ++i) {
    NicOrigin origin;
    if (!identity.gids.empty()) origin.gid = identity.gids[i];
    nics.push_back(std::make_unique<Nic>(*this, absl::StrCat(name, "/", profile.nics[i].name),
                                         static_cast<std::uint32_t>(nics_.size()),
                                         std::uint64_t{identity.machine} << 16 | i, profile,
                                         origin));
    Enter(*nics.back());
  }
  nodes_.push_back(std::make_unique<Node>(std::move(name), profile, std::move(nics)));
  return *nodes_.back();
}

Nic& World::AddProxy(std::string name, std::uint64_t identity, const NicOrigin& origin) {
  proxies_.push_back(std::make_unique<Nic>(*this, std::move(name),
                                           static_cast<std::uint32_t>(nics_.size()), identity,
                                           profile_, origin));
  Nic& proxy = *proxies_.back();
  Enter(proxy);
  proxy.Kill();
  return proxy;
}

void World::Enter(Nic& nic) {
  nics_.push_back(&nic);
  DD_CHECK(by_gid_.emplace(nic.gid(), &nic).second, "two NICs have one GID");
}

void World::Block(Node& from, Node& to) {
  NoteChange();
  for (std::size_t i = 0; i < from.nic_count(); ++i) {
    for (std::size_t j = 0; j < to.nic_count(); ++j) {
      wire_.Block(from.nic(i), to.nic(j));
      to.nic(j).Silence(from.nic(i));
      from.nic(i).Silence(to.nic(j));
    }
  }
}

void World::Unblock(Node& from, Node& to) {
  NoteChange();
  for (std::size_t i = 0; i < from.nic_count(); ++i) {
    for (std::size_t j = 0; j < to.nic_count(); ++j) wire_.Unblock(from.nic(i), to.nic(j));
  }
}

void World::CheckRequests() {
  processors_.FinishAll();
  for (Nic* nic : nics_) nic->AuditAll();
}

void World::CheckEnd() {
  CheckRequests();
  checks_.memory().leaks().AtEnd();
}

bool World::WaitUntil(coro::Time deadline) {
  if (live_) {
    Progress();
    if (std::exchange(woken_, false)) return true;
    const coro::Time next = events_.empty() ? coro::kNever : events_.top().time;
    return steady_.WaitUntil(std::min(deadline, next));
  }
  // A poll that found nothing may itself have taken the time in which something happened elsewhere.
  if (scheduling_ != nullptr) {
    scheduling_->charges = 0;
    while (!woken_ && StepScheduled(deadline)) {
    }
  } else {
    while (!woken_ && !events_.empty() && events_.top().time <= deadline) RunNext();
  }
  checks_.progress().Reset();
  if (std::exchange(woken_, false)) return true;
  if (deadline == coro::kNever) {
    checks_.Stuck(now_ - start_);
    return false;
  }
  now_ = std::max(now_, deadline);
  return true;
}

void World::RunDueEvents() {
  const coro::Time now = steady_.Now();
  while (!events_.empty() && events_.top().time <= now) RunNext();
}

bool World::RunUntil(const std::function<bool()>& done, coro::Duration duration) {
  const coro::Time deadline = coro::After(now_, duration);
  while (!done()) {
    if (scheduling_ != nullptr && StepScheduled(deadline)) continue;
    if (scheduling_ != nullptr || events_.empty() || events_.top().time > deadline) {
      now_ = std::max(now_, deadline);
      return false;
    }
    RunNext();
  }
  return true;
}

void World::RunFor(coro::Duration duration) {
  RunUntil([] { return false; }, duration);
}

bool World::UnderWay() const {
  return !events_.empty() || (scheduling_ != nullptr && !scheduling_->pool.empty());
}

void World::PollsInVain() {
  checks_.PollsInVain(now_ - start_, DescribeWaits().Summary());
  NeverReturns(EndlessLoop::kPolls);
}

void World::NeverReturns(EndlessLoop loop) {
  const WaitGraph graph = DescribeWaits();
  if (endless_loop_) return endless_loop_(loop, graph);
  std::cerr << (loop == EndlessLoop::kPolls
                    ? "the program polls for ever, and nothing is under way; "
                    : "the program posts to a full send queue for ever, and does not read; ")
            << graph.ToText();
}

Nic* World::FindNic(const Gid& gid) {
  const auto found = by_gid_.find(gid);
  if (found != by_gid_.end()) return found->second;
  return neighbours_ == nullptr ? nullptr : neighbours_->Find(gid);
}

void World::Advance(coro::Time time) {
  if (scheduling_ != nullptr) [[unlikely]] {
    return AdvanceScheduled(time);
  }
  while (!events_.empty() && events_.top().time <= time) RunNext();
  now_ = std::max(now_, time);
}

void World::RunNext() {
  const Event event = events_.Pop();
  now_ = std::max(now_, event.time);
  if (scheduling_ != nullptr && event.kind == EventKind::kTransmit) [[unlikely]] {
    scheduling_->transmits -= scheduling_->transmits > 0 ? 1 : 0;
  }
  Happen(event);
}

void World::Happen(const Event& event) {
  ++event_count_;
  Log({.kind = event.kind, .actor = event.actor->index(), .packet = event.a, .operation = event.b});
  event.actor->OnEvent(event);
}

}  // namespace sim
