#include "drydock/sim/events/step_pool.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "drydock/coro/check.h"
#include "drydock/sim/events/actor.h"

namespace drydock::sim {
namespace {

constexpr std::uint32_t kMostCharges = 4096;

bool IsOfNetwork(EventKind kind) {
  switch (kind) {
    case EventKind::kArrive:
    case EventKind::kReadData:
    case EventKind::kPlaceRest:
    case EventKind::kAnswer:
    case EventKind::kLand:
    case EventKind::kRnrRetry:
      return true;
    default:
      return false;
  }
}

bool ComesBefore(const Step& a, const Step& b) {
  return std::tie(a.operation, a.kind, a.packet) < std::tie(b.operation, b.kind, b.packet);
}

// Without steps of calm operations whose turn has not come. `steps`: in the order of operations.
std::vector<Step> InTurn(const std::vector<Step>& steps) {
  std::set<std::pair<std::uint32_t, EventKind>> taken;  // by a calm operation of that NIC
  std::vector<Step> ready;
  for (const Step& step : steps) {
    if (!step.calm || taken.insert({step.initiator, step.kind}).second) ready.push_back(step);
  }
  return ready;
}

// The operation as a whole, which the program at either end can notice.
Step WholeOperation(Step step) {
  step.kind = EventKind::kFetch;
  step.packet = 0;
  step.touches = {Touch::All(step.initiator_machine), Touch::All(step.target_machine)};
  return step;
}

}  // namespace

bool StepPool::Take(const Event& event) {
  if (event.kind == EventKind::kTransmit) ++transmits_;
  if (!IsOfNetwork(event.kind)) return false;
  const std::optional<Step> step = event.actor->Describe(event);
  if (!step.has_value()) return true;  // it would come to nothing
  entries_.push_back({event, takes_whole_operations() ? WholeOperation(*step) : *step});
  return true;
}

std::vector<Step> StepPool::Steps() const {
  std::vector<Step> steps;
  for (const Entry& entry : entries_) steps.push_back(entry.step);
  std::sort(steps.begin(), steps.end(), ComesBefore);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

StepPool::Choice StepPool::Pick(coro::Duration now) {
  std::erase_if(entries_,
                [](const Entry& entry) { return entry.event.actor->IsPointless(entry.event); });
  if (entries_.empty()) return {};
  const std::vector<Step> ready = InTurn(Steps());
  const std::size_t picked = scheduler_.Pick(ready, now);
  if (picked == Scheduler::kNobody) return {.step = std::nullopt, .waits = true};
  DD_CHECK(picked < ready.size(), "the scheduler picks what there is");
  return {.step = ready[picked], .waits = false};
}

std::optional<Event> StepPool::Remove(const Step& step) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return other.step == step && !other.event.actor->IsPointless(other.event);
  });
  if (entry == entries_.end()) return std::nullopt;
  const Event event = entry->event;
  entries_.erase(entry);
  return event;
}

bool StepPool::Charged() {
  if (++charges_ < kMostCharges) return false;
  charges_ = 0;
  return true;
}

}  // namespace drydock::sim
