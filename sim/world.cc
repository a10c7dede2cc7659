#include "sim/world.h"

#include <algorithm>
#include <utility>

#include "coro/check.h"

namespace sim {

Node& World::AddNode(std::string name) {
  std::vector<std::unique_ptr<Nic>> nics;
  for (std::size_t i = 0; i < profile_.nics.size(); ++i) {
    const std::uint64_t identity = nodes_.size() << 16 | i;
    nics.push_back(std::make_unique<Nic>(*this, identity, profile_));
    DD_CHECK(nics_.emplace(nics.back()->gid(), nics.back().get()).second, "two NICs drew one GID");
  }
  nodes_.push_back(std::make_unique<Node>(std::move(name), std::move(nics)));
  return *nodes_.back();
}

bool World::WaitUntil(coro::Time deadline) {
  // A poll that found nothing may itself have taken the time in which something happened elsewhere.
  while (!woken_ && !events_.empty() && events_.top().time <= deadline) Step();
  if (std::exchange(woken_, false)) return true;
  if (deadline == coro::kNever) return false;
  now_ = std::max(now_, deadline);
  return true;
}

bool World::RunUntil(const std::function<bool()>& done, coro::Duration duration) {
  const coro::Time deadline = coro::After(now_, duration);
  while (!done()) {
    if (events_.empty() || events_.top().time > deadline) {
      now_ = std::max(now_, deadline);
      return false;
    }
    Step();
  }
  return true;
}

void World::RunFor(coro::Duration duration) { Advance(coro::After(now_, duration)); }

Nic* World::FindNic(const Gid& gid) {
  const auto found = nics_.find(gid);
  return found == nics_.end() ? nullptr : found->second;
}

void World::Advance(coro::Time time) {
  while (!events_.empty() && events_.top().time <= time) Step();
  now_ = std::max(now_, time);
}

void World::Step() {
  const Event event = events_.Pop();
  now_ = std::max(now_, event.time);
  ++event_count_;
  event.actor->OnEvent(event);
}

}  // namespace sim
