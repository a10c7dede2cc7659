// Turns an entry that the device wrote into a program's completion: finds the endpoint and the
// request, frees their slots, and fills in the completion. One file, so that it is one loop.

#include <cstdint>
#include <memory>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/error.h"
#include "drydock/sim/driver/queue_core.h"
#include "drydock/sim/driver/sim_endpoint.h"

namespace drydock::sim {

namespace efa = fabric::efa_queue;

using fabric::OperationKind;

// ---- One entry ----

void SimEndpoint::SayWhy(efa::CompletionStatus status, fabric::Completion& completion) {
  completion.error = fabric::FromEfaStatus(static_cast<std::uint8_t>(status));
  completion.provider_error = static_cast<std::int32_t>(status);
}

namespace {

// The kind of a program's work request. The entry alone does not tell a read from a send: neither
// rdma-core nor libfabric looks (efa_io_defs.h). `request`: null: none of the driver's.
OperationKind KindOf(const RequestSlots::Request* request, const efa::Completion& entry) {
  if (request != nullptr && request->signalled) return request->kind;
  return entry.operation == efa::Operation::kWrite ? OperationKind::kWrite : OperationKind::kSend;
}

DD_HOT void TellRead(const Observers& observers, const QueuePair& queue_pair, bool receive,
                     const efa::Completion& entry) {
  observers.Tell<&Observer::OnCompletionRead>(queue_pair, receive,
                                              static_cast<std::uint16_t>(entry.request_id),
                                              static_cast<std::uint8_t>(entry.status));
}

}  // namespace

// Which counter: ofiwg/libfabric prov/efa/src/efa_cntr.c.
void SimEndpoint::CountEntry(const efa::Completion& entry) {
  CounterKind kind = CounterKind::kReceives;
  if (entry.queue != efa::QueueType::kReceive) {
    kind = CounterOf(KindOf(sends_.Find(static_cast<std::uint16_t>(entry.request_id)), entry));
  } else if (entry.operation == efa::Operation::kWrite) {
    kind = CounterKind::kRemoteWrites;
  }
  counters_.Count(kind, entry.status != efa::CompletionStatus::kOk);
}

DD_HOT bool SimEndpoint::Sent(const efa::Completion& entry, fabric::Completion& completion) {
  const RequestSlots::Request* request =
      sends_.Release(static_cast<std::uint16_t>(entry.request_id));
  send_producer_.Complete();  // an entry is one slot, also of a request that is not the driver's
  TellRead(domain_->world.observers(), *queue_pair_, false, entry);
  const bool signalled = request != nullptr && request->signalled;
  const bool ok = entry.status == efa::CompletionStatus::kOk;
  if (ok && !signalled) return false;
  std::construct_at(&completion);  // in place: assigning a temporary stalls on its copy
  if (signalled) completion.context = request->context;
  completion.kind = KindOf(request, entry);
  if (!ok) SayWhy(entry.status, completion);
  return true;
}

DD_HOT bool SimEndpoint::Received(const efa::Completion& entry, fabric::Completion& completion) {
  const RequestSlots::Request* request = nullptr;
  if (!entry.unsolicited) {
    request = receives_.Release(static_cast<std::uint16_t>(entry.request_id));
    if (request != nullptr) receive_producer_.Complete(request->descriptors);
    TellRead(domain_->world.observers(), *queue_pair_, true, entry);
  }
  const bool signalled = request != nullptr && request->signalled;
  const bool ok = entry.status == efa::CompletionStatus::kOk;
  if (ok && !signalled && !entry.unsolicited) return false;
  std::construct_at(&completion);
  if (signalled) completion.context = request->context;
  completion.kind = entry.operation == efa::Operation::kWrite ? OperationKind::kRemoteWrite
                                                              : OperationKind::kReceive;
  // A failed write that used no receive has no valid immediate.
  if (entry.has_immediate && (ok || !entry.unsolicited)) completion.immediate = entry.immediate;
  completion.length_bytes = entry.length;
  completion.source = peers_->FindSource(entry.address_handle, entry.source_queue_pair);
  if (!ok) SayWhy(entry.status, completion);
  return true;
}

DD_HOT bool SimEndpoint::Translate(const efa::Completion& entry, fabric::Completion& completion) {
  return entry.queue == efa::QueueType::kReceive ? Received(entry, completion)
                                                 : Sent(entry, completion);
}

// ---- A queue ----

namespace {

// Null: the endpoint is closed, or there was none.
SimEndpoint* OwnerOf(const efa::Completion& entry, const QueueCore& queue) {
  return entry.queue_pair < queue.endpoints.size() ? queue.endpoints[entry.queue_pair] : nullptr;
}

}  // namespace

DD_HOT bool QueueCore::TakeEntry(efa::Completion& entry, SimEndpoint*& owner) {
  const efa::Malformed malformed = ring->Read(entry);
  if (malformed == efa::Malformed::kWrongPhase) return false;
  owner = malformed == efa::Malformed::kNone ? OwnerOf(entry, *this) : nullptr;
  if (owner != nullptr) owner->Count(entry);
  ring->Pop();
  return true;
}

std::size_t QueueCore::TakeSome(std::span<fabric::Completion> completions) {
  fabric::Completion* next = completions.data();
  fabric::Completion* const end = next + completions.size();
  for (; !kept.empty() && next != end; ++next) {
    *next = kept.front().completion;
    kept.pop_front();
  }
  for (; !staged.empty() && next != end; staged.pop_front()) {
    if (OwnerOf(staged.front(), *this)->Translate(staged.front(), *next)) ++next;
  }
  efa::Completion entry;
  SimEndpoint* owner = nullptr;
  while (next != end && TakeEntry(entry, owner)) {
    if (owner != nullptr && owner->Translate(entry, *next)) ++next;
  }
  return static_cast<std::size_t>(next - completions.data());
}

void QueueCore::Stage(std::size_t most) {
  efa::Completion entry;
  SimEndpoint* owner = nullptr;
  for (; most > 0 && TakeEntry(entry, owner); --most) {
    if (owner != nullptr) staged.push_back(entry);
  }
}

void QueueCore::Forget(std::uint16_t queue_pair) {
  endpoints[queue_pair] = nullptr;
  std::erase_if(kept, [&](const Kept& entry) { return entry.queue_pair == queue_pair; });
  Stage(SIZE_MAX);
  for (; !staged.empty(); staged.pop_front()) {
    const efa::Completion& entry = staged.front();
    SimEndpoint* endpoint = OwnerOf(entry, *this);
    fabric::Completion completion;
    if (endpoint != nullptr && endpoint->Translate(entry, completion))
      kept.push_back({entry.queue_pair, completion});
  }
}

}  // namespace drydock::sim
