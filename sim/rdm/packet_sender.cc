#include "drydock/sim/rdm/packet_sender.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "drydock/coro/check.h"
#include "drydock/sim/rdm/address_book.h"
#include "drydock/sim/rdm/device_context.h"

namespace drydock::sim::rdm {
namespace {

// Sends that one doorbell covers at most.
constexpr std::size_t kBatch = 32;

// An honest peer has at most as many operations under way as its queues are long.
constexpr std::size_t kMostAnswers = 16384;

// Where the peer's NIC names the sender, and the peer knows us, the packet need not.
bool NeedsSource(const Peer& peer) {
  return !peer.handshake_received || (peer.features & kFeatureNamesSource) == 0;
}

}  // namespace

PacketSender::PacketSender(PacketPool pool, fabric::Endpoint& device, Alarm& alarm,
                           Statistics& statistics, std::uint64_t most_answer_bytes)
    : pool_(std::move(pool)),
      device_(device),
      alarm_(alarm),
      statistics_(statistics),
      own_address_(device.address()),
      most_answer_bytes_(most_answer_bytes),
      slots_(pool_.packets()) {
  for (std::size_t i = pool_.packets(); i > 0; --i) {
    free_.push_back(static_cast<std::uint32_t>(i - 1));
  }
}

bool PacketSender::MaySend(const Peer& peer, PacketUse use) const {
  const std::size_t most = std::max<std::size_t>(1, pool_.packets() / 4);
  return !peer.backoff.active() && (use == PacketUse::kOwn || peer.answers_in_flight < most);
}

Draft PacketSender::Begin(Peer& peer, PacketHeader header, PacketUse use) {
  const std::uint32_t index = Borrow();
  header.connid = ConnidOf(own_address_);
  if (NeedsSource(peer)) header.source = own_address_;
  const std::span<std::byte> bytes = pool_.bytes(index);
  Slot& slot = slots_[index];
  slot = {.peer = &peer, .use = use, .header_bytes = Encode(header, bytes)};
  if (use == PacketUse::kAnswer) ++peer.answers_in_flight;
  return {index, bytes.subspan(slot.header_bytes)};
}

void PacketSender::Post(const Draft& draft, std::size_t payload_bytes, OperationId owner) {
  Slot& slot = slots_[draft.index];
  slot.owner = owner;
  slot.length = slot.header_bytes + payload_bytes;
  ready_.push_back(draft.index);
}

void PacketSender::Discard(const Draft& draft) { Release(draft.index); }

std::uint32_t PacketSender::Borrow() {
  DD_CHECK(!free_.empty(), "no packet is free");
  const std::uint32_t index = free_.back();
  free_.pop_back();
  return index;
}

void PacketSender::Release(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.use == PacketUse::kAnswer) --slot.peer->answers_in_flight;
  slot = {};
  free_.push_back(index);
}

void PacketSender::SendAnswer(Peer& peer, const PacketHeader& header,
                              std::span<const std::byte> payload, OperationId owner) {
  if (ready() && peer.answers.empty() && MaySend(peer, PacketUse::kAnswer)) {
    return SendNow(peer, header, payload, owner);
  }
  if (peer.answers.size() >= kMostAnswers ||
      payload.size() > most_answer_bytes_ - std::min(most_answer_bytes_, peer.answer_bytes)) {
    ++statistics_.unsent_answers;
    return;
  }
  if (peer.answers.empty()) answering_.push_back(&peer);
  peer.answer_bytes += payload.size();
  peer.answers.push_back({header, {payload.begin(), payload.end()}, owner});
}

void PacketSender::SendNow(Peer& peer, const PacketHeader& header,
                           std::span<const std::byte> payload, OperationId owner) {
  const Draft draft = Begin(peer, header, PacketUse::kAnswer);
  if (!payload.empty()) std::memcpy(draft.payload.data(), payload.data(), payload.size());
  Post(draft, payload.size(), owner);
}

void PacketSender::PumpAnswers() {
  for (std::size_t peers = answering_.size(); peers > 0 && ready(); --peers) {
    Peer* peer = answering_.front();
    answering_.pop_front();
    while (!peer->answers.empty() && ready() && MaySend(*peer, PacketUse::kAnswer)) {
      const Answer answer = std::move(peer->answers.front());
      peer->answers.pop_front();
      peer->answer_bytes -= answer.payload.size();
      SendNow(*peer, answer.header, answer.payload, answer.owner);
    }
    if (!peer->answers.empty()) answering_.push_back(peer);
  }
}

std::size_t PacketSender::CollectBatch() {
  batch_.clear();
  for (std::size_t i = 0; i < ready_.size() && batch_.size() < kBatch;) {
    const std::uint32_t index = ready_[i];
    const Slot& slot = slots_[index];
    if (slot.peer->backoff.active()) {
      slot.peer->parked.push_back(index);
      ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    batch_.push_back({.buffer = pool_.buffer(index, slot.length),
                      .peer = slot.peer->entry->device_peer,
                      .context = MakeContext(DeviceRequest::kPacketSend, index)});
    ++i;
  }
  return batch_.size();
}

void PacketSender::Flush() {
  while (CollectBatch() > 0) {
    const fabric::PostResult result = device_.Send(batch_);
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(result.accepted));
    in_device_ += result.accepted;
    if (result.error == fabric::ErrorCode::kOk) continue;
    if (result.error == fabric::ErrorCode::kAgain) return;
    const std::uint32_t index = ready_.front();
    ready_.pop_front();
    refused_.push_back({slots_[index].owner, slots_[index].peer, {result.error, 0}});
    Release(index);
    alarm_.WakeAt(alarm_.Now());  // so that the owner hears of it
  }
}

std::optional<SentPacket> PacketSender::TakeRefused() {
  if (refused_.empty()) return std::nullopt;
  const SentPacket refused = refused_.front();
  refused_.pop_front();
  return refused;
}

std::optional<SentPacket> PacketSender::OnCompletion(std::uint32_t index,
                                                     const fabric::Completion& completion) {
  --in_device_;
  const Slot& slot = slots_[index];
  if (completion.error == fabric::ErrorCode::kReceiverNotReady) {
    Refused(index);
    return std::nullopt;
  }
  if (completion.ok()) slot.peer->backoff.Succeeded();
  const SentPacket sent{
      slot.owner, slot.peer,
      FromDevice(completion.error, completion.provider_error, slot.peer->handshake_received)};
  Release(index);
  return sent;
}

void PacketSender::Refused(std::uint32_t index) {
  ++statistics_.refused_packets;
  Slot& slot = slots_[index];
  if (!slot.refused_before) {  // once may be bad luck
    slot.refused_before = true;
    ready_.push_back(index);
    return;
  }
  Peer& peer = *slot.peer;
  if (!peer.backoff.active()) {
    ++statistics_.backoffs;
    backing_off_.push_back(&peer);
  }
  peer.backoff.Refused(alarm_.Now());
  peer.parked.push_back(index);
  alarm_.WakeAt(peer.backoff.until());
}

void PacketSender::Tick() {
  const coro::Time now = alarm_.Now();
  const auto over = [&](Peer* peer) {
    if (peer->backoff.until() > now) return false;
    peer->backoff.Leave();
    ready_.insert(ready_.end(), peer->parked.begin(), peer->parked.end());
    peer->parked.clear();
    return true;
  };
  backing_off_.erase(std::remove_if(backing_off_.begin(), backing_off_.end(), over),
                     backing_off_.end());
  PumpAnswers();
}

}  // namespace drydock::sim::rdm
