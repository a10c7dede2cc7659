#include "drydock/sim/device/requester.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/ending.h"
#include "drydock/sim/device/piece.h"
#include "drydock/sim/device/rights.h"

namespace drydock::sim {
namespace {

using fabric::OperationKind;

// A work request that is to be served after others is served all the same when none come.
constexpr coro::Duration kMostBehind{100'000};

bool IsOf(const QueuePair& queue_pair, const Operation& operation) {
  return operation.source == queue_pair.serial;
}

}  // namespace

// ---- Fetching ----

void Requester::Ring(QueuePair& queue_pair, std::uint32_t counter) {
  const fabric::efa_queue::DoorbellFault fault = queue_pair.send.Ring(counter);
  if (fault != fabric::efa_queue::DoorbellFault::kNone) {
    ++nic_.counters.doorbell_faults;
    queue_pair.last_doorbell_fault = fault;
    return;
  }
  around_.observers.Tell<&Observer::OnDoorbell>(nic_, queue_pair);
  if (queue_pair.drained) [[unlikely]]
    return;
  Wait(queue_pair);
}

// For its turn to be fetched from.
void Requester::Wait(QueuePair& queue_pair) {
  if (queue_pair.waits_for_fetch) return;
  queue_pair.waits_for_fetch = true;
  unfetched_.push_back(&queue_pair);
  Fetch();
  transmitter_.Schedule();
}

void Requester::Fetch() {
  while (!unfetched_.empty() && transmitter_.has_room() && nic_.alive()) {
    QueuePair& queue_pair = *unfetched_.front();
    if (unfetched_.size() == 1) {  // nearly always
      queue_pair.waits_for_fetch = FetchOne(queue_pair);
      if (!queue_pair.waits_for_fetch) unfetched_.clear();
      continue;
    }
    unfetched_.erase(unfetched_.begin());
    queue_pair.waits_for_fetch = FetchOne(queue_pair);
    if (queue_pair.waits_for_fetch) unfetched_.push_back(&queue_pair);
  }
}

void Requester::Drain(QueuePair& queue_pair) {
  queue_pair.drained = true;
  queue_pair.waits_for_fetch = false;
  std::erase(unfetched_, &queue_pair);
}

void Requester::Resume(QueuePair& queue_pair) {
  queue_pair.drained = false;
  if (queue_pair.send.unfetched() > 0) Wait(queue_pair);
}

// Takes the oldest work request of the queue pair; returns whether there are more.
bool Requester::FetchOne(QueuePair& queue_pair) {
  Operation& operation = around_.StartOperation();
  const EfaStatus refusal = Refusal(queue_pair, queue_pair.send.Fetch(operation));
  const bool more = queue_pair.send.unfetched() > 0;
  EfaStatus status = refusal;
  std::optional<FetchVerdict> verdict;
  if (refusal == EfaStatus::kOk) [[likely]] {
    Identify(queue_pair, operation);
    ++queue_pair.under_way;
    status = CheckLocally(operation);
    if (around_.faults != nullptr) [[unlikely]] {
      verdict = around_.faults->OnFetch(queue_pair, operation, status == EfaStatus::kOk);
    }
  }
  around_.observers.Tell<&Observer::OnFetched>(nic_, queue_pair, operation, status);
  if (status == EfaStatus::kOk) [[likely]] {
    verdict.has_value() ? ServeAsPlanned(operation, *verdict) : Serve(operation);
  } else if (refusal == EfaStatus::kOk) {
    EndUnanswered(around_, operation, status);
  } else {
    Refuse(queue_pair, operation, refusal);
  }
  return more;
}

// Why a work request never becomes an operation; kOk: it does.
EfaStatus Requester::Refusal(const QueuePair& queue_pair, FetchResult result) {
  if (queue_pair.state != QueuePairState::kReadyToSend) return EfaStatus::kFlushed;
  if (result == FetchResult::kOk) return EfaStatus::kOk;
  ++nic_.counters.malformed_work;
  return result == FetchResult::kUnknownOperation ? EfaStatus::kLocalUnsupportedOperation
                                                  : EfaStatus::kLocalQueuePairInternal;
}

void Requester::Identify(const QueuePair& queue_pair, Operation& operation) const {
  operation.initiator = &nic_;
  operation.source = queue_pair.serial;
  operation.domain = queue_pair.domain;
  operation.queue_pair = queue_pair.number;
  operation.qkey = queue_pair.qkey;
  operation.datagram = queue_pair.type == QueuePairType::kUd;
  operation.unsolicited_immediates = queue_pair.unsolicited_immediates;
  operation.rnr_retries = static_cast<std::uint8_t>(queue_pair.rnr_retries);
  const Profile& profile = nic_.profile;
  const std::uint32_t packets =
      around_.faults == nullptr ? PacketsTogether(profile, operation.length) : 1;
  operation.Divide(profile.instant ? operation.length : profile.device.mtu, packets);
}

// It still has its completion. The kind of a malformed one is not known.
void Requester::Refuse(QueuePair& queue_pair, Operation& operation, EfaStatus status) {
  nic_.counters.Ended(operation.kind, operation.length, true);
  queue_pair.counters.Count(CounterOf(operation.kind), true);
  completions_.Write(queue_pair, CompletionWriter::Queue::kSend,
                     {.request_id = operation.request_id,
                      .queue_pair = queue_pair.number,
                      .status = static_cast<std::uint8_t>(status),
                      .kind = operation.kind});
  around_.EndOperation(operation);
}

EfaStatus Requester::CheckLocally(Operation& operation) const {
  const DeviceAttributes& device = nic_.profile.device;
  const bool send = operation.kind == OperationKind::kSend;
  const bool supported =
      send || (!operation.datagram &&
               (operation.kind == OperationKind::kWrite ? device.rdma_write : device.rdma_read));
  if (!supported) return EfaStatus::kLocalUnsupportedOperation;
  const AddressHandles::Handle* handle =
      nic_.handles.Find(operation.address_handle, operation.domain);
  if (handle == nullptr) return EfaStatus::kLocalInvalidAddressHandle;
  operation.peer = handle->peer;
  // Another process takes no packets that travel together. An operation that takes no time has one,
  // which the way there may divide; faults are of the packets that EFA would send.
  const bool divided = !nic_.profile.instant || around_.faults != nullptr;
  if (handle->peer != nullptr && handle->peer->elsewhere && divided) [[unlikely]] {
    operation.Divide(device.mtu);
  }
  if (operation.length > (send ? device.mtu : device.max_rdma_size)) {
    return EfaStatus::kLocalBadLength;
  }
  operation.withdrawals = nic_.memory.withdrawals();
  return LocalIsValid(around_, operation, {0, operation.length}) ? EfaStatus::kOk
                                                                 : EfaStatus::kLocalInvalidLkey;
}

// ---- Serving ----

void Requester::Serve(Operation& operation) {
  if (!transmitter_.LeavesAtOnce(operation)) return transmitter_.EnqueueRequest(operation.id);
  const Transmitter::Served served{operation.source, operation.sequence};
  transmitter_.SendAtOnce(operation, false);
  OnServed(served);
}

void Requester::ServeAsPlanned(Operation& operation, const FetchVerdict& verdict) {
  using When = FetchVerdict::When;
  const OperationId id = operation.id;
  switch (verdict.when) {
    case When::kNow:
      return Serve(operation);
    case When::kNever:
      return FailLater(around_, operation, verdict.failure);
    case When::kLater:
      return around_.deferred.After(verdict.delay, [this, id] { ServeBehind(id); });
    case When::kAfterOthers:
      behind_.push_back({id, operation.source, operation.sequence, verdict.others});
      return around_.deferred.After(kMostBehind, [this, id] {
        const bool waits = std::any_of(behind_.begin(), behind_.end(), [&](const Behind& waiting) {
          return waiting.operation == id;
        });
        if (waits) ServeBehind(id);
      });
  }
}

void Requester::ServeBehind(OperationId operation) {
  std::erase_if(behind_, [&](const Behind& waiting) { return waiting.operation == operation; });
  if (around_.operations.Find(operation) != nullptr) transmitter_.EnqueueRequest(operation);
}

void Requester::CountDown(const Transmitter::Served& served) {
  for (Behind& waiting : behind_) {
    if (waiting.source == served.source && waiting.sequence < served.sequence) --waiting.left;
  }
  while (true) {
    const auto ready = std::find_if(behind_.begin(), behind_.end(),
                                    [](const Behind& waiting) { return waiting.left <= 0; });
    if (ready == behind_.end()) return;
    ServeBehind(OperationId(ready->operation));
  }
}

// ---- How an operation ends ----

// The bytes are those that the target has now; it may have closed the region, or itself, since it
// sent them.
void Requester::OnReadData(Operation& operation, std::uint32_t flags) {
  placement_.Place(operation, flags | PacketFlags::kOfRead);
}

void Requester::OnAnswer(Operation& operation) {
  if (!IsKnown(operation.status)) {
    operation.status = static_cast<std::uint8_t>(EfaStatus::kRemoteBadStatus);
  }
  const bool answered = !operation.datagram && IsAnswer(static_cast<EfaStatus>(operation.status));
  if (answered && operation.peer != nullptr) nic_.heard_from.Insert(operation.peer->index());
  Complete(operation);
  around_.EndOperation(operation);
}

void Requester::Complete(const Operation& operation) {
  QueuePair* queue_pair = nic_.queue_pairs.FindSame(operation.queue_pair, operation.source);
  if (queue_pair == nullptr || !nic_.alive()) return;
  --queue_pair->under_way;
  const bool failed = operation.status != 0;
  nic_.counters.Ended(operation.kind, operation.length, failed);
  queue_pair->counters.Count(CounterOf(operation.kind), failed);
  if (!operation.completion_requested && !failed) [[unlikely]]
    return;
  const DeviceCompletion completion{.request_id = operation.request_id,
                                    .queue_pair = operation.queue_pair,
                                    .status = operation.status,
                                    .kind = operation.kind};
  if (operation.faulted) [[unlikely]] {
    return completions_.Write(*queue_pair, CompletionWriter::Queue::kSend, completion,
                              around_.faults->OnCompletion(operation));
  }
  completions_.Write(*queue_pair, CompletionWriter::Queue::kSend, completion);
}

// ---- Silence ----

bool Requester::HasHeardFrom(const Operation& operation) const {
  return operation.peer != nullptr && nic_.heard_from.Has(operation.peer->index());
}

void Requester::OnSilence(const Operation& operation) {
  const coro::Duration patience = HasHeardFrom(operation) ? nic_.profile.unresponsive_timeout
                                                          : nic_.profile.unreachable_timeout;
  const bool over = operation.asked_again;  // it has run out, and looking once more was in vain
  around_.timeline.After(over ? coro::Duration{} : patience, nic_.actor, EventKind::kTimeOut, 0,
                         operation.id.Pack());
}

// A message that waits for its receive is asked for over and over: a way that was blocked meanwhile
// costs it nothing. It looks for its receive once more.
bool Requester::AsksAgain(Operation& operation) {
  NicState* const peer = operation.peer;
  if (peer == nullptr || operation.ended || operation.asked_again || !peer->alive()) return false;
  const bool passes =
      around_.wire.Passes(nic_.port, peer->port) && around_.wire.Passes(peer->port, nic_.port);
  if (!passes) return false;
  QueuePair* target =
      peer->queue_pairs.Find(operation.destination_queue_pair, operation.destination_qkey);
  if (target == nullptr || std::erase(target->waiting, operation.id) == 0) return false;
  operation.asked_again = true;
  around_.timeline.After(peer->profile.rnr_delay, peer->actor, EventKind::kRnrRetry, 0,
                         operation.id.Pack());
  return true;
}

void Requester::OnTimeOut(Operation& operation) {
  if (operation.answered) return;
  if (AsksAgain(operation)) {
    operation.silent = false;
    return;
  }
  ++nic_.counters.unresponsive_remote_events;
  EndUnanswered(around_, operation,
                HasHeardFrom(operation) ? EfaStatus::kLocalUnresponsivePeer
                                        : EfaStatus::kLocalUnreachablePeer);
}

// ---- Ends from outside ----

// Also what has ended at the peer, and was not heard of here.
void Requester::Flush(const QueuePair& queue_pair) {
  if (queue_pair.under_way == 0) return;
  around_.operations.ForEach([&](Operation& operation) {
    if (IsOf(queue_pair, operation) && !operation.answered) {
      EndUnanswered(around_, operation, EfaStatus::kFlushed);
    }
  });
}

void Requester::FlushHandle(std::uint16_t address_handle) {
  around_.operations.ForEach([&](Operation& operation) {
    const bool ours = operation.initiator == &nic_ && operation.address_handle == address_handle;
    if (ours && !operation.answered) EndUnanswered(around_, operation, EfaStatus::kFlushed);
  });
}

void Requester::FlushAll() {
  around_.operations.ForEach([&](Operation& operation) {
    if (operation.initiator == &nic_ && !operation.answered) {
      EndUnanswered(around_, operation, EfaStatus::kFlushed);
    }
  });
}

void Requester::Abandon(QueuePair& queue_pair) {
  Drain(queue_pair);
  if (queue_pair.under_way == 0) return;
  around_.operations.ForEach([&](Operation& operation) {
    if (IsOf(queue_pair, operation)) around_.EndOperation(operation);
  });
}

}  // namespace drydock::sim
