#include "drydock/sim/world/run_trace.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "drydock/coro/check.h"
#include "drydock/coro/keyed_random.h"

namespace drydock::sim {
namespace {

using fabric::faults::EventView;
using fabric::faults::FaultEngine;
using fabric::faults::Firing;
using fabric::faults::FiringId;

ShortName Shorten(std::string_view name) {
  ShortName shortened{};
  std::copy_n(name.begin(), std::min(name.size(), shortened.size() - 1), shortened.begin());
  return shortened;
}

}  // namespace

std::vector<FiringId> RunTrace::FiringIds() const {
  std::vector<FiringId> ids;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(firing_count, kMostFirings));
  for (std::size_t i = 0; i < count; ++i) ids.push_back(firings[i].id);
  return ids;
}

std::vector<LoggedEvent> RunTrace::LastEvents() const {
  std::vector<LoggedEvent> events;
  const std::uint64_t count = std::min<std::uint64_t>(event_count, kMostEvents);
  for (std::uint64_t i = event_count - count; i < event_count; ++i) {
    events.push_back(last_events[i % kMostEvents]);
  }
  return events;
}

RunTrace& InitTrace(void* zeros) {
  // No constructor needs to touch all the pages.
  auto& trace = *static_cast<RunTrace*>(zeros);
  trace.mark_distance = RunTrace::kFirstDistance;
  return trace;
}

std::shared_ptr<RunTrace> NewTrace() {
  void* const memory = mmap(nullptr, sizeof(RunTrace), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  DD_CHECK(memory != MAP_FAILED, "memory for the trace of a run");
  return {&InitTrace(memory), [](RunTrace* mapped) { munmap(mapped, sizeof(RunTrace)); }};
}

void Tracer::Begin(World& world, FaultEngine* engine, coro::Duration began) {
  world_ = &world;
  engine_ = engine;
  began_ = began;
  world.log().set_listener(this);
  if (engine != nullptr) engine->set_listener(this);
}

void Tracer::End() {
  world_->log().set_listener(nullptr);
  digest_before_ = DigestSoFar();
  has_before_ = true;
  world_ = nullptr;
  operations_before_ = trace_.operation_count;
  if (engine_ == nullptr) return;
  engine_->set_listener(nullptr);
  const std::vector<fabric::faults::RuleReport> rules = engine_->Report();
  eligible_before_.resize(rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) eligible_before_[i] += rules[i].eligible;
}

void Tracer::OnFired(const FiringId& id, const EventView& view, const Firing&) {
  const std::uint64_t index = trace_.firing_count++;
  if (index >= RunTrace::kMostFirings) return;
  FiringEntry& entry = trace_.firings[index];
  entry.id = {id.rule, FiringsBefore(id.rule) + id.number};
  entry.time = began_ + view.time;
  entry.nic = Shorten(view.nic);
  entry.has_operation = view.operation.has_value();
  entry.operation = view.operation.value_or(fabric::OperationKind::kSend);
  entry.size_bytes = view.size_bytes.value_or(0);
  entry.has_peer = view.peer.has_value();
  entry.peer = view.peer.value_or(0);
}

void Tracer::OnLogged(const LoggedEvent& event) {
  LoggedEvent& noted = trace_.last_events[trace_.event_count++ % RunTrace::kMostEvents];
  noted = event;
  noted.time += began_;
  if (trace_.event_count % trace_.mark_distance == 0) NoteMark();
  if (event.kind == EventKind::kFetch) NoteFetch(event);
  if (event.kind != EventKind::kPlace) return;
  const Operation* operation = world_->operations().Find(OperationId::Unpack(event.operation));
  OperationEntry* const entry = operation == nullptr ? nullptr : EntryOf(*operation);
  if (entry == nullptr) return;
  entry->landed = true;
  entry->landing = began_ + event.time;
}

OperationEntry* Tracer::EntryOf(const Operation& operation) {
  const std::uint64_t index = operations_before_ + operation.sequence;
  return index < RunTrace::kMostOperations ? &trace_.operations[index] : nullptr;
}

void Tracer::NoteFetch(const LoggedEvent& event) {
  const Operation* operation = world_->operations().Find(OperationId::Unpack(event.operation));
  if (operation == nullptr) return;
  trace_.operation_count =
      std::max(trace_.operation_count, operations_before_ + operation->sequence + 1);
  OperationEntry* const entry = EntryOf(*operation);
  if (entry == nullptr) return;
  entry->kind = operation->kind;
  entry->from = event.actor;
  entry->to = operation->peer == nullptr ? kNoActor : operation->peer->index();
  entry->bytes = operation->length;
  entry->has_immediate = operation->has_immediate;
  entry->immediate = operation->immediate;
  entry->fetched = began_ + event.time;
  for (const std::uint32_t nic : {entry->from, entry->to}) {
    if (nic < RunTrace::kMostNics) trace_.nics[nic] = Shorten(world_->nics()[nic].name);
  }
}

Digest Tracer::DigestSoFar() const {
  const Digest& digest = world_->digest();
  if (!has_before_) return digest;
  return {coro::Combine(digest_before_.high, digest.high),
          coro::Combine(digest_before_.low, digest.low)};
}

// Never more than a few: when there is no room, every second one goes.
void Tracer::NoteMark() {
  if (trace_.mark_count == RunTrace::kMostMarks) {
    for (std::size_t i = 0; i < RunTrace::kMostMarks / 2; ++i) {
      trace_.marks[i] = trace_.marks[2 * i + 1];
    }
    trace_.mark_count /= 2;
    trace_.mark_distance *= 2;
    if (trace_.event_count % trace_.mark_distance != 0) return;
  }
  trace_.marks[trace_.mark_count++] = {trace_.event_count, DigestSoFar()};
}

}  // namespace drydock::sim
