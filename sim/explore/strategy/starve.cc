#include "drydock/sim/explore/strategy/starve.h"

#include <chrono>

namespace drydock::sim::explore {
namespace {

constexpr std::uint64_t kOneIn = 16;      // steps: how often a window begins
constexpr std::uint64_t kDoublings = 21;  // from 1 us to 2 s

// Programs do not give up earlier than this.
constexpr coro::Duration kLong = std::chrono::milliseconds(1);

}  // namespace

// The victim has a step that is ready.
void StarveScheduler::BeginWindow(std::span<const Step> ready, coro::Duration now) {
  const Step& step = ready[draws_.NextBelow(ready.size())];
  victim_ = static_cast<Victim>(draws_.NextBelow(3));
  const bool as_target =
      victim_ == Victim::kNic && step.target != kNoActor && draws_.NextBelow(2) == 1;
  nic_ = as_target ? step.target : step.initiator;
  queue_pair_ = step.queue_pair;
  const std::uint64_t shortest = std::uint64_t{1000} << draws_.NextBelow(kDoublings);
  const coro::Duration length(shortest + draws_.NextBelow(shortest));
  until_ = now + length;
  long_ = long_ || length >= kLong;
}

bool StarveScheduler::IsFrozen(const Step& step) const {
  switch (victim_) {
    case Victim::kNic:
      return step.initiator == nic_ || step.target == nic_;
    case Victim::kEndpoint:
      return step.initiator == nic_ && step.queue_pair == queue_pair_;
    case Victim::kCompletions:
      return step.initiator == nic_ && step.kind == EventKind::kAnswer;
  }
  return false;
}

std::size_t StarveScheduler::Pick(std::span<const Step> ready, coro::Duration now) {
  if (now >= until_ && draws_.NextBelow(kOneIn) == 0) BeginWindow(ready, now);
  if (now >= until_) return draws_.NextBelow(ready.size());
  free_.clear();
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (!IsFrozen(ready[i])) free_.push_back(i);
  }
  return free_.empty() ? kNobody : free_[draws_.NextBelow(free_.size())];
}

}  // namespace drydock::sim::explore
