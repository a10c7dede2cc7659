// A world whose network does what a scheduler picks.

#include "sim/scheduling.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "coro/check.h"
#include "sim/scheduler.h"
#include "sim/world.h"

namespace sim {
namespace {

using fabric::OperationKind;

// A program that has done so much without waiting polls for something: the network may go on.
constexpr std::uint32_t kMostCharges = 4096;

bool Overlap(const Touch& a, const Touch& b) {
  return a.machine == b.machine && (a.writes || b.writes) && a.begin < b.end && b.begin < a.end;
}

// What the pool takes. The rest is a device's own work or somebody's timer, and keeps its time.
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

// The operation as a whole: what the program at either end can notice.
Step WholeOperation(Step step, std::uint32_t initiator, std::uint32_t target) {
  step.kind = EventKind::kFetch;
  step.packet = 0;
  step.touches = {Touch::All(initiator), Touch::All(target)};
  return step;
}

}  // namespace

bool AreIndependent(const Step& a, const Step& b) {
  if (a.operation == b.operation) return false;
  for (const Touch& one : a.touches) {
    for (const Touch& other : b.touches) {
      if (Overlap(one, other)) return false;
    }
  }
  return true;
}

// ---- What a step uses ----

Step Nic::Describe(const Operation& operation, EventKind kind, std::uint32_t packet) const {
  Step step;
  step.operation = operation.sequence;
  step.kind = kind;
  step.packet = packet;
  step.request = operation.kind;
  step.initiator = operation.initiator->index_;
  step.queue_pair = operation.queue_pair;
  if (operation.peer != nullptr) step.target = operation.peer->index_;
  const bool of_read = operation.kind == OperationKind::kRead;
  const bool one_range = operation.kind != OperationKind::kSend && operation.segment_count <= 1;
  const bool noticed = kind == EventKind::kAnswer || kind == EventKind::kLand ||
                       kind == EventKind::kRnrRetry || operation.kind == OperationKind::kSend ||
                       operation.has_immediate;
  const Range range = RangeOf(operation, packet & kPacketMask);
  const std::uint64_t local = operation.segments[0].address + range.offset;
  const std::uint64_t remote = operation.remote_address + range.offset;
  const auto& initiator = *operation.initiator;
  // At the machine where it happens.
  if (noticed) {
    step.touches[0] = Touch::All(machine_);
  } else if (of_read && kind == EventKind::kArrive) {  // all of it is checked
    step.touches[0] = {machine_, false, operation.remote_address,
                       operation.remote_address + operation.length};
  } else {
    const std::uint64_t begin = of_read ? local : remote;
    step.touches[0] = {machine_, true, begin, begin + range.length};
  }
  // At the other one, whose memory is read.
  if (kind == EventKind::kAnswer || kind == EventKind::kLand) return step;
  if (of_read) {
    if (kind == EventKind::kArrive || operation.peer == nullptr) return step;
    step.touches[1] = {operation.peer->machine_, false, remote, remote + range.length};
  } else if (!operation.is_inline && operation.length > 0) {
    step.touches[1] = {initiator.machine_, false, one_range ? local : 0,
                       one_range ? local + range.length : UINT64_MAX};
  }
  return step;
}

const Operation* Nic::OperationOf(EventKind kind, std::uint64_t number) const {
  if (kind != EventKind::kLand) return world_.operations().Find(OperationId::Unpack(number));
  return world_.operations().Find(landings_.at(number).operation);
}

bool Nic::IsPointless(const Event& event) const {
  if (event.kind == EventKind::kLand) return false;  // its bytes are here, whoever has ended
  const Operation* operation = world_.operations().Find(OperationId::Unpack(event.b));
  return operation == nullptr || (operation->ended && event.kind != EventKind::kAnswer);
}

// ---- The pool ----

void World::UseScheduler(Scheduler& scheduler) {
  DD_CHECK(!live_, "nobody schedules the network of a live world");
  DD_CHECK(event_count_ == 0 && events_.empty(), "a scheduler comes before everything happens");
  scheduling_ = std::make_unique<Scheduling>(scheduler);
}

// True: the scheduler will say when.
bool World::TakeIntoPool(Actor* actor, EventKind kind, std::uint32_t a, std::uint64_t b) {
  if (kind == EventKind::kTransmit) ++scheduling_->transmits;
  if (!IsOfNetwork(kind)) return false;
  Nic& nic = *nics_[actor->index()];
  const Operation* operation = nic.OperationOf(kind, b);
  if (operation == nullptr) return true;  // comes to nothing, whenever it comes
  Step step = nic.Describe(*operation, kind, a);
  if (scheduling_->scheduler.grain() == Grain::kOperations) {
    const Nic& initiator = *operation->initiator;
    const Nic& target = operation->peer != nullptr ? *operation->peer : initiator;
    step = WholeOperation(step, initiator.machine(), target.machine());
  }
  scheduling_->pool.push_back({Event{now_, scheduling_->next_sequence++, actor, kind, a, b}, step});
  return true;
}

std::vector<Step> World::StepsUnderWay() const {
  std::vector<Step> steps;
  if (scheduling_ == nullptr) return steps;
  for (const Scheduling::Entry& entry : scheduling_->pool) steps.push_back(entry.step);
  std::sort(steps.begin(), steps.end(), ComesBefore);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

// The next thing that happens, at `deadline` at the latest; false: nothing does.
bool World::StepScheduled(coro::Time deadline) {
  const auto next_time = [this] { return events_.empty() ? coro::kNever : events_.top().time; };
  // What is due, and what is about to leave: the pool holds all that could come next.
  const bool first = next_time() <= now_ || scheduling_->transmits > 0;
  if (first && !events_.empty() && next_time() <= deadline) {
    RunNext();
    return true;
  }
  if (now_ >= deadline) return false;
  coro::Time next = next_time();
  if (const auto picked = PickStep(); picked.has_value()) {
    if (*picked != Scheduler::kNobody) {
      now_ = std::min(now_ + kStepTime, deadline);
      RunStep(scheduling_->ready[*picked]);
      return true;
    }
    next = std::min(next, coro::After(start_, scheduling_->scheduler.resumes()));
    if (next < next_time() && next <= deadline) {
      now_ = std::max(now_, next);
      return true;
    }
  }
  if (next > deadline || events_.empty()) return false;
  RunNext();
  return true;
}

// Absent: nothing is under way.
std::optional<std::size_t> World::PickStep() {
  std::erase_if(scheduling_->pool, [this](const Scheduling::Entry& entry) {
    return nics_[entry.event.actor->index()]->IsPointless(entry.event);
  });
  if (scheduling_->pool.empty()) return std::nullopt;
  scheduling_->ready = StepsUnderWay();
  const std::size_t picked = scheduling_->scheduler.Pick(scheduling_->ready, Elapsed());
  DD_CHECK(picked == Scheduler::kNobody || picked < scheduling_->ready.size(),
           "the scheduler picks what there is");
  return picked;
}

// One event of the pool; with whole operations, what follows from it as well.
void World::RunStep(const Step& picked) {
  const Step step = picked;  // `ready` may change
  while (true) {
    auto& pool = scheduling_->pool;
    const auto entry = std::find_if(pool.begin(), pool.end(), [&](const Scheduling::Entry& other) {
      return other.step == step && !nics_[other.event.actor->index()]->IsPointless(other.event);
    });
    if (entry == pool.end()) return;
    Event event = entry->event;
    pool.erase(entry);
    event.time = now_;
    Happen(event);
    if (scheduling_->scheduler.grain() != Grain::kOperations) return;
    while (scheduling_->transmits > 0 && !events_.empty()) RunNext();  // a read's data leave
  }
}

void World::AdvanceScheduled(coro::Time time) {
  while (!events_.empty() && events_.top().time <= time) RunNext();
  now_ = std::max(now_, time);
  if (++scheduling_->charges < kMostCharges) return;
  scheduling_->charges = 0;
  StepScheduled(coro::kNever);
}

}  // namespace sim
