#include "drydock/sim/device/transmitter.h"

#include <algorithm>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/ending.h"
#include "drydock/sim/device/flight.h"
#include "drydock/sim/device/piece.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

using fabric::OperationKind;

// ---- Jobs ----

void Transmitter::EnqueueRequest(OperationId operation) {
  ++requests_;
  Enqueue({operation, false});
}

void Transmitter::EnqueueResponse(OperationId operation) { Enqueue({operation, true}); }

void Transmitter::Enqueue(const Job& job) {
  if (jobs_.size() < nic_.profile.engine_window) {
    jobs_.push_back(job);
  } else {
    waiting_.push_back(job);
  }
  Schedule();
}

void Transmitter::Remove(std::size_t index) {
  if (!jobs_[index].response) --requests_;
  jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(index));
  if (waiting_.empty()) return;
  jobs_.push_back(waiting_.front());
  waiting_.pop_front();
}

void Transmitter::Schedule() {
  if (scheduled_ || jobs_.empty() || !nic_.alive()) return;
  scheduled_ = true;
  const coro::Duration wait = std::max(coro::Duration{}, NextTime() - now());
  around_.timeline.After(wait, nic_.actor, EventKind::kTransmit, 0, 0);
}

// Undisturbed operations stay in their order: in the place of one of them comes the first of them.
std::size_t Transmitter::Choose() {
  if (jobs_.size() == 1) return 0;
  if (nic_.profile.flow_packets > 1) return ChooseInTurn();
  const auto drawn = static_cast<std::size_t>(choices_.NextBelow(jobs_.size()));
  if (!around_.wire.undisturbed().any() || !IsUndisturbed(jobs_[drawn])) return drawn;
  std::size_t first = 0;
  while (!IsUndisturbed(jobs_[first])) ++first;
  return first;
}

std::size_t Transmitter::ChooseInTurn() {
  const auto waits = [](const Job& job) { return !job.had_turn; };
  if (std::ranges::none_of(jobs_, waits)) {
    for (Job& job : jobs_) job.had_turn = false;
  }
  auto left = choices_.NextBelow(static_cast<std::uint64_t>(std::ranges::count_if(jobs_, waits)));
  std::size_t index = 0;
  while (jobs_[index].had_turn || left-- > 0) ++index;
  jobs_[index].had_turn = true;
  return index;
}

bool Transmitter::IsUndisturbed(const Job& job) const {
  const Operation* operation = around_.operations.Find(job.operation);
  return operation != nullptr && operation->undisturbed;
}

std::optional<Transmitter::Served> Transmitter::SendOne() {
  while (!jobs_.empty() && nic_.alive()) {
    const std::size_t index = Choose();
    const Job job = jobs_[index];
    Operation* operation = around_.operations.Find(job.operation);
    if (operation == nullptr || operation->ended) {
      Remove(index);
      continue;
    }
    // The operation may have come to its end, and left the table, when its packet is sent.
    const bool request = operation->kind == OperationKind::kRead && !job.response;
    const Range range = request ? Range{} : operation->PacketRange(operation->next_packet);
    if (!job.held && HoldBack(*operation, job, range.length)) [[unlikely]] {
      Remove(index);
      continue;
    }
    jobs_[index].held = false;
    const bool last = request || operation->next_packet + 1 == operation->packets;
    const Served served{operation->source, operation->sequence};
    if (last) Remove(index);
    if (request) {
      SendPacket(*operation, 0, false, {});  // it carries no data
    } else {
      const std::uint32_t packet = operation->next_packet++;
      SendPacket(*operation, packet, job.response, range);
    }
    return last && !job.response ? std::optional(served) : std::nullopt;
  }
  return std::nullopt;
}

void Transmitter::SendAtOnce(Operation& operation, bool response) {
  const bool request = operation.kind == OperationKind::kRead && !response;
  if (request) return SendPacket(operation, 0, false, {});
  operation.next_packet = operation.packets;
  SendPacket(operation, 0, response, operation.PacketRange(0));
}

void Transmitter::Die() {
  for (const Job& job : jobs_) Silence(job);
  for (const Job& job : waiting_) Silence(job);
}

void Transmitter::Silence(const Job& job) {
  Operation* operation = around_.operations.Find(job.operation);
  if (!job.response || operation == nullptr || operation->ended) return;
  FallSilent(around_, *operation);
}

// ---- Congestion ----

bool Transmitter::HoldBack(const Operation& operation, Job job, std::uint64_t bytes) {
  NicState* const receiver = job.response ? operation.initiator : operation.peer;
  const Profile& profile = nic_.profile;
  if (profile.instant || receiver == nullptr) return false;
  const std::uint64_t first = std::min<std::uint64_t>(bytes, profile.device.mtu);
  const std::uint64_t others = PacketsInPiece(profile, bytes) - 1;
  const coro::Duration hold = receiver->port.ingress.Hold(
      nic_.index(), first + profile.header_bytes, now() + profile.one_way.fixed,
      bytes - first + others * profile.header_bytes);
  if (hold <= coro::Duration::zero()) return false;
  job.held = true;
  job.had_turn = false;
  around_.deferred.After(hold, [this, job] { ComeBack(job); });
  return true;
}

void Transmitter::ComeBack(const Job& job) {
  if (!nic_.alive()) return Silence(job);
  if (!job.response) ++requests_;
  Enqueue(job);
}

// ---- Packets ----

void Transmitter::TellSent(const Operation& operation, std::uint32_t packet, bool response,
                           std::uint64_t bytes, const Flight& flight) {
  around_.observers.Tell<&Observer::OnSent>(nic_, operation, packet, response, bytes, flight);
}

void Transmitter::SendPacket(Operation& operation, std::uint32_t packet, bool response,
                             Range range) {
  const Profile& profile = nic_.profile;
  const std::uint64_t packets = PacketsInPiece(profile, range.length);
  if (packets > 1 && !profile.instant) [[unlikely]] {
    return SendPiece(operation, packet, response, range);
  }
  const std::uint64_t bytes_on_link = range.length + profile.header_bytes;
  const bool first = packet == 0 && !response;
  if (first) engine_free_ = now() + profile.issue_cost;
  NicState* const receiver = response ? operation.initiator : operation.peer;
  const std::uint64_t slowness =
      receiver == nullptr ? 0 : Slowness(nic_.port, receiver->port, response);
  const coro::Time sent =
      profile.instant ? now()
                      : nic_.port.link.Send(bytes_on_link, first ? engine_free_ : now(), slowness);
  nic_.counters.Sent(packets, range.length, profile.header_bytes);
  // Where there is no receiver nothing arrives.
  Flight flight = receiver == nullptr
                      ? Flight{}
                      : Fly(around_, nic_, *receiver, operation,
                            response ? DrawPurpose::kResponse : DrawPurpose::kRequest,
                            operation.FirstOf(packet));
  // Of a datagram no answer was promised: one that was lost is not sent again.
  Passage passage;
  if (flight.arrives && !profile.instant && !(operation.datagram && flight.retransmissions > 0)) {
    passage =
        receiver->port.ingress.Take(nic_.index(), bytes_on_link, sent + profile.one_way.fixed);
    flight.retransmissions += passage.retransmissions;
    if (passage.impairs) [[unlikely]]
      ++nic_.counters.impaired_remote_conn_events;
  }
  TellSent(operation, packet, response, range.length, flight);
  if (!flight.arrives || (operation.datagram && flight.retransmissions > 0)) [[unlikely]] {
    return FallSilent(around_, operation);
  }
  if (flight.retransmissions > 0) [[unlikely]] {
    nic_.counters.Retransmitted(flight.retransmissions, range.length, profile.header_bytes);
  }
  receiver->counters.Received(packets, range.length, profile.header_bytes);
  coro::Duration way = sent - now() + profile.dma_latency + flight.delay + passage.wait;
  if (around_.host_path != nullptr) [[unlikely]] {
    way += around_.host_path->DelayOf(operation, response, range, sent);
  }
  const EventKind kind = response ? EventKind::kReadData : EventKind::kArrive;
  const bool may_repeat = operation.kind == OperationKind::kWrite || response;
  const OperationId id = operation.id;
  if (flight.twice && may_repeat && range.length > 0) [[unlikely]] {
    ++operation.copies;
    const std::uint32_t announced = receiver->elsewhere ? PacketFlags::kCopyFollows : 0;
    around_.timeline.After(way, receiver->actor, kind, packet | announced, id.Pack());
    return around_.timeline.After(way + flight.second_delay, receiver->actor, kind,
                                  packet | PacketFlags::kSecondCopy, id.Pack());
  }
  around_.timeline.Deliver(way, receiver->actor, kind, packet, id.Pack());
}

void Transmitter::SendPiece(Operation& operation, std::uint32_t piece, bool response, Range range) {
  const Profile& profile = nic_.profile;
  NicState* const receiver = response ? operation.initiator : operation.peer;
  const std::uint64_t packets = PacketsInPiece(profile, range.length);
  const bool first = piece == 0 && !response;
  if (first) engine_free_ = now() + profile.issue_cost;
  const coro::Time ready = first ? engine_free_ : now();
  const bool passes = receiver != nullptr && around_.wire.Passes(nic_.port, receiver->port);
  Journey journey{.slowest = {.arrives = false}};
  if (passes) [[likely]] {
    journey = SendTogether(around_, nic_, *receiver, operation, response, operation.FirstOf(piece),
                           range, ready);
  } else {
    // It leaves all the same: its sender cannot know that it will not arrive.
    nic_.port.link.Send(range.length + packets * profile.header_bytes, ready,
                        receiver == nullptr ? 0 : Slowness(nic_.port, receiver->port, response));
  }
  nic_.counters.Sent(packets, range.length, profile.header_bytes);
  TellSent(operation, piece, response, range.length, journey.slowest);
  if (!passes) return FallSilent(around_, operation);
  receiver->counters.Received(packets, range.length, profile.header_bytes);
  if (around_.host_path != nullptr) {
    journey.way += around_.host_path->DelayOf(operation, response, range, journey.sent);
  }
  around_.timeline.Deliver(journey.way, receiver->actor,
                           response ? EventKind::kReadData : EventKind::kArrive, piece,
                           operation.id.Pack());
}

}  // namespace drydock::sim
