// The NIC as initiator: from the doorbell to the completion of our own work requests.

#include <algorithm>

#include "sim/abroad.h"
#include "sim/faults/fault_model.h"
#include "sim/nic.h"
#include "sim/world.h"

namespace sim {
namespace {

using fabric::Access;
using fabric::OperationKind;

// What a request that carries no data occupies on the link, beside the header.
constexpr std::uint64_t kNoPayload = 0;

// From the fetch to a completion that the peer had no part in.
constexpr coro::Duration kLocalAnswerDelay{500};

Access LocalRight(OperationKind kind) {
  switch (kind) {
    case OperationKind::kWrite:
      return Access::kWrite;
    case OperationKind::kRead:
      return Access::kRead;
    default:
      return Access::kSend;
  }
}

CounterKind CounterOf(OperationKind kind) {
  switch (kind) {
    case OperationKind::kWrite:
      return CounterKind::kWrites;
    case OperationKind::kRead:
      return CounterKind::kReads;
    default:
      return CounterKind::kSends;
  }
}

}  // namespace

// ---- Fetching ----

void Nic::RingSend(QueuePair& queue_pair, std::uint32_t counter) {
  const fabric::efa_queue::DoorbellFault fault = queue_pair.send.Ring(counter);
  if (fault != fabric::efa_queue::DoorbellFault::kNone) {
    ++counters_.doorbell_faults;
    queue_pair.last_doorbell_fault = fault;
    return;
  }
  if (world_.device_listener() != nullptr) [[unlikely]] {
    world_.device_listener()->OnDoorbell(*this, queue_pair, queue_pair.send.unfetched());
  }
  if (queue_pair.waits_for_fetch) return;
  queue_pair.waits_for_fetch = true;
  unfetched_.push_back(&queue_pair);
  if (world_.live()) {
    if (unfetched_.size() == 1) world_.AddBusy(*this);  // served when somebody polls
    return;
  }
  FetchWork();
  ScheduleTransmit();
}

// Takes work in turn from every queue pair that has some, as much as the engine serves at a time.
void Nic::FetchWork() {
  while (requests_ < profile_.engine_window && !unfetched_.empty() && alive_) {
    QueuePair& queue_pair = *unfetched_.front();
    unfetched_.erase(unfetched_.begin());
    Operation& operation = world_.operations().Start();
    const bool fetched = FetchOne(queue_pair, 0, operation);
    const EfaStatus status = fetched ? CheckLocally(operation) : EfaStatus::kLocalQueuePairInternal;
    if (fetched && world_.faults() != nullptr) {
      world_.faults()->Take(queue_pair, operation, status == EfaStatus::kOk);
    }
    world_.Log({.kind = EventKind::kFetch,
                .branch = static_cast<std::uint8_t>(status),
                .actor = index_,
                .operation = operation.id.Pack(),
                .bytes = operation.length});
    queue_pair.send.Advance(1);
    if (!fetched) {
      world_.operations().End(operation);
    } else if (status != EfaStatus::kOk) {
      FinishLocally(operation, status);
    } else if (!HeldBack(operation)) {
      Begin(operation);
    }
    queue_pair.waits_for_fetch = queue_pair.send.unfetched() > 0;
    if (queue_pair.waits_for_fetch) unfetched_.push_back(&queue_pair);
  }
}

bool Nic::FetchOne(QueuePair& queue_pair, std::uint32_t ahead, Operation& operation) {
  const FetchResult result = queue_pair.send.Fetch(ahead, operation);
  if (queue_pair.state != QueuePairState::kReadyToSend) {
    Refuse(queue_pair, operation, EfaStatus::kFlushed);
    return false;
  }
  if (result != FetchResult::kOk) {
    ++counters_.malformed_work;
    Refuse(queue_pair, operation,
           result == FetchResult::kUnknownOperation ? EfaStatus::kLocalUnsupportedOperation
                                                    : EfaStatus::kLocalQueuePairInternal);
    return false;
  }
  Identify(queue_pair, operation);
  return true;
}

void Nic::Identify(const QueuePair& queue_pair, Operation& operation) const {
  operation.initiator = const_cast<Nic*>(this);
  operation.domain = queue_pair.domain;
  operation.queue_pair = queue_pair.number;
  operation.qkey = queue_pair.qkey;
  operation.datagram = queue_pair.type == QueuePairType::kUd;
  operation.rnr_retries = static_cast<std::uint8_t>(queue_pair.rnr_retries);
  if (queue_pair.watched != nullptr) {
    operation.watched = queue_pair.watched->FindSend(operation.request_id);
  }
  const std::uint64_t mtu = profile_.device.mtu;
  const bool one_packet = operation.kind == OperationKind::kSend || operation.length <= mtu;
  operation.packets =
      one_packet ? 1 : static_cast<std::uint32_t>((operation.length + mtu - 1) / mtu);
  operation.copies = operation.packets;
}

// A work request that never becomes an operation still has its completion. Of a malformed one
// nobody knows the kind.
void Nic::Refuse(QueuePair& queue_pair, const Operation& operation, EfaStatus status) {
  CountWork(operation, true);
  Count(queue_pair, CounterOf(operation.kind), true);
  Report(*queue_pair.send_ring, {.request_id = operation.request_id,
                                 .queue_pair = queue_pair.number,
                                 .status = static_cast<std::uint8_t>(status),
                                 .kind = operation.kind});
}

EfaStatus Nic::CheckLocally(Operation& operation) {
  const DeviceAttributes& device = profile_.device;
  const bool send = operation.kind == OperationKind::kSend;
  const bool supported =
      send || (!operation.datagram &&
               (operation.kind == OperationKind::kWrite ? device.rdma_write : device.rdma_read));
  if (!supported) return EfaStatus::kLocalUnsupportedOperation;
  const AddressHandles::Handle* handle =
      address_handles_.Find(operation.address_handle, operation.domain);
  if (handle == nullptr) return EfaStatus::kLocalInvalidAddressHandle;
  operation.peer = handle->peer != nullptr ? handle->peer : world_.FindNic(handle->gid);
  if (operation.length > (send ? device.mtu : device.max_rdma_size))
    return EfaStatus::kLocalBadLength;
  return LocalIsValid(operation, {0, operation.length}) ? EfaStatus::kOk
                                                        : EfaStatus::kLocalInvalidLkey;
}

bool Nic::LocalIsValid(const Operation& operation, Range range) const {
  if (operation.is_inline || operation.length == 0) return true;
  if (remote_ != nullptr) return true;  // looked at where it came from
  const Access right = LocalRight(operation.kind);
  if (operation.segment_count == 1) {  // nearly always
    const Segment& segment = operation.segments[0];
    if (memory_.AllowsLocal(operation.domain, segment.lkey, segment.address + range.offset,
                            range.length, right)) {
      return true;
    }
    TellRefusedHere(operation);
    return false;
  }
  bool valid = true;
  operation.Walk(range, [&](const Segment& piece) {
    valid = valid &&
            memory_.AllowsLocal(operation.domain, piece.lkey, piece.address, piece.length, right);
  });
  if (!valid) TellRefusedHere(operation);
  return valid;
}

// ---- From the engine to the link ----

bool Nic::HeldBack(Operation& operation) {
  return operation.faulted && world_.faults()->HoldsBack(*this, operation);
}

void Nic::Begin(const Operation& operation) {
  ++requests_;
  Enqueue({operation.id, false});
}

void Nic::Enqueue(Job job) {
  jobs_.push_back(job);
  ScheduleTransmit();
}

void Nic::ScheduleTransmit() {
  if (transmit_scheduled_ || jobs_.empty() || !alive_) return;
  transmit_scheduled_ = true;
  // The engine prepares the next work request while the link still carries the last one.
  const coro::Time next = std::max(engine_free_, link_.free() - profile_.issue_cost);
  world_.Schedule(std::max(world_.Now(), next), this, EventKind::kTransmit, 0, 0);
}

// Sends one packet of one of the first few jobs, drawn at random.
void Nic::Transmit() {
  transmit_scheduled_ = false;
  while (!jobs_.empty() && alive_) {
    const std::uint64_t window = std::min<std::uint64_t>(jobs_.size(), profile_.engine_window);
    const auto job = jobs_.begin() + static_cast<std::ptrdiff_t>(Choose(window));
    Operation* operation = world_.operations().Find(job->operation);
    const bool gone = operation == nullptr || operation->ended;
    const bool response = job->response;
    if (gone || TransmitOne(*operation, response)) {
      jobs_.erase(job);
      if (!response) --requests_;
      if (!gone && !response && world_.faults() != nullptr) world_.faults()->Served(*operation);
    }
    if (!gone) break;
  }
  FetchWork();
  ScheduleTransmit();
}

// Which of the first `window` jobs is next. Calm operations stay in their order: in the place of
// one of them comes the first of them.
std::size_t Nic::Choose(std::uint64_t window) {
  const auto drawn = static_cast<std::size_t>(engine_.NextBelow(window));
  if (!world_.wire().calm().any() || !IsCalm(jobs_[drawn])) return drawn;
  std::size_t first = 0;
  while (!IsCalm(jobs_[first])) ++first;
  return first;
}

bool Nic::IsCalm(const Job& job) const {
  const Operation* operation = world_.operations().Find(job.operation);
  return operation != nullptr && world_.wire().calm().Has(operation->sequence);
}

// True when it was the last packet of the job.
bool Nic::TransmitOne(Operation& operation, bool response) {
  if (operation.kind == OperationKind::kRead && !response) {  // a read's request carries no data
    SendPacket(operation, 0, false, kNoPayload);
    return true;
  }
  const std::uint32_t packet = operation.next_packet++;
  SendPacket(operation, packet, response, RangeOf(operation, packet).length);
  return operation.next_packet == operation.packets;
}

void Nic::SendPacket(Operation& operation, std::uint32_t packet, bool response,
                     std::uint64_t bytes) {
  const bool first = packet == 0 && !response;
  if (first) engine_free_ = world_.Now() + profile_.issue_cost;
  const coro::Time sent =
      link_.Send(bytes + profile_.header_bytes, first ? engine_free_ : world_.Now());
  counters_.Sent(1, bytes, profile_.header_bytes);
  Nic* receiver = response ? operation.initiator : operation.peer;
  Flight flight;
  if (receiver != nullptr) {
    flight =
        Fly(*receiver, operation, response ? PacketKind::kResponse : PacketKind::kRequest, packet);
  }
  world_.Log({.kind = EventKind::kSend,
              .branch = static_cast<std::uint8_t>((flight.arrives ? 1 : 0) |
                                                  (flight.retransmissions > 0 ? 2 : 0) |
                                                  (flight.twice ? 4 : 0)),
              .actor = index_,
              .packet = packet,
              .operation = operation.id.Pack(),
              .bytes = bytes});
  const bool lost = !flight.arrives || (operation.datagram && flight.retransmissions > 0);
  if (lost) {
    if (operation.datagram)
      return FinishLocally(operation, EfaStatus::kOk);  // nobody promised anything
    return operation.initiator->StartTimeout(operation);
  }
  if (flight.retransmissions > 0) [[unlikely]] {
    counters_.retrans_pkts += flight.retransmissions;
    counters_.retrans_bytes += flight.retransmissions * (bytes + profile_.header_bytes);
    counters_.retrans_timeout_events += flight.retransmissions;
    counters_.Sent(flight.retransmissions, flight.retransmissions * bytes, profile_.header_bytes);
  }
  coro::Time arrival = sent + profile_.dma_latency + flight.delay +
                       QueueAt(*receiver, sent + profile_.one_way.fixed, bytes);
  if (world_.numa().any()) [[unlikely]] {
    const Range range{RangeOf(operation, packet).offset, bytes};
    arrival += world_.numa().DelayOf(operation, response, range, sent);
  }
  const EventKind kind = response ? EventKind::kReadData : EventKind::kArrive;
  const bool may_repeat = operation.kind == OperationKind::kWrite || response;
  const bool twice = flight.twice && may_repeat && bytes > 0;
  const std::uint32_t announced = twice && receiver->remote_ != nullptr ? kCopyFollows : 0;
  world_.Schedule(arrival, receiver, kind, packet | announced, operation.id.Pack());
  if (twice) {
    ++operation.copies;
    world_.Schedule(arrival + flight.second_delay, receiver, kind, packet | kSecondCopy,
                    operation.id.Pack());
  }
}

Flight Nic::Fly(Nic& receiver, Operation& operation, PacketKind kind, std::uint32_t packet) {
  if (world_.faults() != nullptr) {
    return world_.faults()->Fly(*this, receiver, operation, kind, packet);
  }
  return world_.wire().Send(*this, receiver, operation.sequence, kind, packet);
}

// How long a packet waits because others are on the receiver's link: several senders share it.
coro::Duration Nic::QueueAt(Nic& receiver, coro::Time sent, std::uint64_t bytes) const {
  const std::uint64_t on_link = bytes + profile_.header_bytes;
  const double least = receiver.profile_.receive_gbps;
  const std::uint64_t takes =
      on_link * PicosecondsPerByte(least > 0 ? least : receiver.profile_.link_gbps);
  const auto reaches_ps = static_cast<std::uint64_t>(sent.time_since_epoch().count()) * 1000;
  // The sender's own link has spaced the packets already: an idle receiver adds nothing.
  const std::uint64_t begins =
      std::max(receiver.ingress_free_ps_, reaches_ps - std::min(reaches_ps, takes));
  receiver.ingress_free_ps_ = begins + takes;
  receiver.counters_.Received(1, bytes, profile_.header_bytes);
  const std::uint64_t done = receiver.ingress_free_ps_;
  return coro::Duration(
      static_cast<std::int64_t>(done > reaches_ps ? (done - reaches_ps) / 1000 : 0));
}

Range Nic::RangeOf(const Operation& operation, std::uint32_t packet) const {
  if (operation.kind == OperationKind::kSend) return {0, operation.length};
  const std::uint64_t mtu = operation.initiator->profile_.device.mtu;
  const std::uint64_t offset = std::uint64_t{packet} * mtu;
  return {offset, std::min<std::uint64_t>(mtu, operation.length - offset)};
}

// ---- How an operation ends ----

void Nic::ArriveReadData(Operation& operation, std::uint32_t packet, bool second_copy) {
  if (operation.faulted) world_.faults()->BeforePlacement(operation);
  Range range = RangeOf(operation, packet);
  if (!LocalIsValid(operation, range))
    return FinishLocally(operation, EfaStatus::kLocalInvalidLkey);
  // The bytes are those that the target has now; it may have closed the region, or itself, since it
  // sent them.
  const EfaStatus there = operation.peer->CheckPlacement(operation, range);
  if (there != EfaStatus::kOk) return FinishLocally(operation, there);
  if (second_copy) ++counters_.placed_twice;
  const std::uint32_t flags = packet | kOfRead | (second_copy ? kSecondCopy : 0);
  if (operation.faulted && world_.faults()->Place(*this, operation, range, flags)) return;
  const bool rest_comes = Split(operation, range, flags);
  TellPlacing(operation, *operation.peer, range, second_copy);
  const std::byte* source = PointerTo(operation.remote_address + range.offset);
  if (!operation.CopyIn(world_.bus(), range, source)) return StartTimeout(operation);
  LogPlaced(operation, packet, range, rest_comes);
  if (rest_comes) return;
  ++operation.placed;
  if (operation.all_placed()) FinishLocally(operation, EfaStatus::kOk);
}

void Nic::FinishLocally(Operation& operation, EfaStatus status) {
  if (operation.answered) return;
  if (status == EfaStatus::kOk && operation.faulted && world_.faults()->Ends(operation)) return;
  operation.ended = true;
  operation.answered = true;
  operation.status = static_cast<std::uint8_t>(status);
  TellEnded(operation);
  if (world_.live()) return operation.initiator->Answer(operation);
  world_.Schedule(world_.Now() + kLocalAnswerDelay, operation.initiator, EventKind::kAnswer, 0,
                  operation.id.Pack());
}

void Nic::Answer(Operation& operation) {
  if (!IsKnown(operation.status))
    operation.status = static_cast<std::uint8_t>(EfaStatus::kRemoteBadStatus);
  const bool answer = !operation.datagram && IsAnswer(static_cast<EfaStatus>(operation.status));
  if (answer && operation.peer != nullptr) {
    HearFrom(*operation.peer);
  }
  if (operation.abroad) Abroad::Ended(operation);
  Complete(operation);
  if (operation.faulted) world_.faults()->Forget(operation);
  if (operation.in_table()) world_.operations().End(operation);
}

void Nic::Complete(const Operation& operation) {
  QueuePair* queue_pair = FindQueuePair(operation.queue_pair, operation.qkey);
  if (queue_pair == nullptr || !alive_) return;
  const bool failed = operation.status != 0;
  CountWork(operation, failed);
  Count(*queue_pair, CounterOf(operation.kind), failed);
  const DeviceCompletion completion{.request_id = operation.request_id,
                                    .queue_pair = operation.queue_pair,
                                    .status = operation.status,
                                    .kind = operation.kind};
  const bool withheld =
      operation.faulted && world_.faults()->Withholds(*this, *queue_pair, operation, completion);
  if (withheld) return TellReported(completion, false);
  Report(*queue_pair->send_ring, completion);
}

void Nic::CountWork(const Operation& operation, bool failed) {
  switch (operation.kind) {
    case OperationKind::kWrite:
      ++counters_.rdma_write_wrs;
      if (failed) ++counters_.rdma_write_wr_err;
      if (!failed) counters_.rdma_write_bytes += operation.length;
      break;
    case OperationKind::kRead:
      ++counters_.rdma_read_wrs;
      if (failed) ++counters_.rdma_read_wr_err;
      if (!failed) counters_.rdma_read_bytes += operation.length;
      break;
    default:
      ++counters_.send_wrs;
      if (!failed) counters_.send_bytes += operation.length;
  }
}

// ---- Silence ----

bool Nic::HasHeardFrom(const Operation& operation) const {
  return operation.peer != nullptr && operation.peer->index() < heard_from_.size() &&
         heard_from_[operation.peer->index()];
}

void Nic::StartTimeout(Operation& silent) {
  if (silent.timing_out) return;
  if (remote_ != nullptr) return Abroad::Lost(*this, silent);
  Operation& operation = Parked(silent);
  operation.timing_out = true;
  if (operation.watched != nullptr) world_.checks().memory().Silent(*operation.watched);
  const bool heard = HasHeardFrom(operation);
  const coro::Duration patience =
      heard ? profile_.unresponsive_timeout : profile_.unreachable_timeout;
  world_.Schedule(world_.Now() + patience, this, EventKind::kTimeOut, 0, operation.id.Pack());
}

void Nic::TimeOut(Operation& operation) {
  if (operation.answered) return;
  ++counters_.unresponsive_remote_events;
  FinishLocally(operation, HasHeardFrom(operation) ? EfaStatus::kLocalUnresponsivePeer
                                                   : EfaStatus::kLocalUnreachablePeer);
}

}  // namespace sim
