#include "drydock/sim/hosts/neighbour.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/sim/device/ending.h"
#include "drydock/sim/device/fault_points.h"
#include "drydock/sim/hosts/arrivals.h"
#include "drydock/sim/hosts/cross_memory.h"
#include "drydock/sim/hosts/gid.h"
#include "drydock/sim/hosts/shared_channel.h"

namespace drydock::sim {
namespace {

using fabric::OperationKind;

// Payload up to this length comes with its message, even if we may read the sender's memory: a copy
// is faster than a system call.
constexpr std::uint64_t kMostCopied = 4096;

// Payload of one packet of an operation that takes no time, where its bytes come with the message:
// it fits twice in the smallest ring.
constexpr std::uint64_t kMostInMessage = 24 << 10;

// The same where they stay with the sender: a system call's cost is small beside so many bytes.
constexpr std::uint64_t kMostStaying = 1 << 20;

// Bytes of packets that wait for room before further packets are held back.
constexpr std::size_t kMostWaiting = 1 << 20;

// Operations of one process that are under way here.
constexpr std::size_t kMostShadows = 1 << 20;
// Of a packet. A device sends it again, and a fault plan some times more.
constexpr std::uint64_t kMostArrivals = 64;

// After a failure more packets of a write may come: its initiator says when none does.
bool StaysKnown(OperationKind kind, std::uint8_t status) {
  return kind == OperationKind::kWrite && status != 0;
}

// A packet for which no message has room: its bytes stay with the sender, even if the right to read
// them is lost.
bool WasToStay(const Operation& operation) { return operation.packet_bytes > kMostInMessage; }

// Whether the message's packets are ones that we could make, too.
bool DividesSoundly(const Message& message, std::uint64_t length, const Profile& profile) {
  return message.packet_bytes >= std::min<std::uint64_t>(length, profile.device.mtu);
}

// Whether the range stays in our memory, or goes with the message.
void SetPlace(Range range, bool stays, Message& message) {
  if (range.length == 0) return;
  message.place = stays ? PayloadPlace::kSender : PayloadPlace::kMessage;
  if (!stays) message.payload_bytes = static_cast<std::uint32_t>(range.length);
}

}  // namespace

Neighbour::Neighbour(NeighbourContext& context, std::uint8_t slot)
    : context_(context), slot_(slot), proxies_(context.node.nic_count()) {
  Refresh();
}

NicState& Neighbour::ProxyOf(std::uint8_t nic) {
  std::unique_ptr<Proxy>& proxy = proxies_[nic];
  if (proxy != nullptr) return proxy->state();
  World& world = context_.world;
  const auto index = static_cast<std::uint32_t>(world.nics().size());
  const Profile& profile = context_.node.profile();
  proxy = std::make_unique<Proxy>(world.surroundings(), *this, index, slot_,
                                  absl::StrCat("machine-", slot_, "/", profile.nics[nic].name),
                                  GidOf(context_.fabric, {.machine = slot_, .nic = nic}), profile);
  proxy->state().port.rail = RailOf(profile, nic);
  proxy->state().zone = context_.directory.At(slot_).zone.load(std::memory_order_relaxed);
  world.nics().Enter(proxy->state());
  context_.owners.resize(index + 1u);
  context_.owners[index] = this;
  if (present()) proxy->Revive();
  return proxy->state();
}

// ---- Coming and going ----

std::uint32_t Neighbour::Living() const {
  return is_far() ? context_.far->LivingIn(slot_) : context_.directory.LivingIn(slot_);
}

void Neighbour::Refresh() {
  const std::uint32_t living = Living();
  if (living == incarnation_) return;
  if (present()) {
    // Messages that it sent before it left count.
    if (Take()) context_.world.timeline().RunFor({});
    if (present()) Vanish();
  }
  if (living != 0 && living != distrusted_) Appear(living);
}

void Neighbour::Appear(std::uint32_t incarnation) {
  incarnation_ = incarnation;
  if (is_far()) {
    channel_ = context_.far->MakeChannel(slot_);
  } else {
    channel_ = std::make_unique<SharedChannel>(context_.directory, slot_, incarnation);
  }
  across_.pid = context_.directory.At(slot_).pid.load(std::memory_order_relaxed);
  Probe();
  // The successor in a dead machine's slot may be in another zone.
  const std::uint32_t zone = context_.directory.At(slot_).zone.load(std::memory_order_relaxed);
  for (const auto& proxy : proxies_) {
    if (proxy == nullptr) continue;
    proxy->state().zone = zone;
    proxy->Revive();
  }
}

void Neighbour::Probe() {
  const MachineSlot& slot = context_.directory.At(slot_);
  const bool readable = context_.cross_memory && !is_far() &&
                        CanReadAcross(across_.pid, slot.word_address.load(), slot.word.load());
  across_.readable = readable ? incarnation_ : 0;
  across_.doubtful = false;
  context_.directory.mine().readable[slot_].store(across_.readable, std::memory_order_release);
}

void Neighbour::Vanish() {
  incarnation_ = 0;
  across_.readable = 0;
  context_.directory.mine().readable[slot_].store(0, std::memory_order_release);
  channel_.reset();
  waiting_.clear();
  waiting_bytes_ = 0;
  unannounced_ = false;
  for (const auto& proxy : proxies_) {
    if (proxy != nullptr) proxy->Kill();
  }
  context_.world.operations().ForEach([this](Operation& operation) {
    const bool lost =
        operation.abroad && !operation.ended && context_.OwnerOf(*operation.peer) == this;
    if (lost) FallSilent(context_.world.surroundings(), operation);
  });
  for (auto& [foreign, shadow] : std::exchange(shadows_, {})) {
    Operation* operation = shadow.over ? nullptr : context_.world.operations().Find(shadow.id);
    if (operation != nullptr) context_.world.surroundings().EndOperation(*operation);
  }
}

void Neighbour::Distrust() {
  ++context_.messages_refused;
  distrusted_ = incarnation_;
  Vanish();
}

bool Neighbour::Judge() {
  const Channel::State state = present() ? channel_->state() : Channel::State::kSound;
  if (state == Channel::State::kGarbage) Distrust();
  if (state == Channel::State::kEnded) Vanish();
  return state != Channel::State::kSound;
}

// A far neighbour's channel ends by itself.
void Neighbour::CheckPulse() {
  if (!present() || is_far() || !busy() || context_.directory.IsHeld(slot_)) return;
  context_.directory.NoteDeath(slot_, incarnation_);
  Refresh();
}

bool Neighbour::owes() const {
  if (!present()) return false;
  if (!waiting_.empty() || !channel_->drained()) return true;
  return std::any_of(shadows_.begin(), shadows_.end(), [this](const auto& entry) {
    const Operation* operation =
        entry.second.over ? nullptr : context_.world.operations().Find(entry.second.id);
    return operation != nullptr && operation->answered;
  });
}

// ---- Sending ----

bool Neighbour::MayReadUs(std::uint64_t length) const {
  if (length <= kMostCopied || !context_.cross_memory || is_far()) return false;
  Directory& directory = context_.directory;
  return directory.At(slot_).readable[directory.slot()].load(std::memory_order_acquire) ==
         directory.incarnation();
}

// Whether the other process reads `length` bytes of our write where they are.
bool Neighbour::StaysHere(const Operation& operation, std::uint64_t length) const {
  // Messages are short, and wait for receives: they bring their bytes along.
  bool stays = operation.kind == OperationKind::kWrite && !operation.is_inline &&
               !operation.faulted && MayReadUs(length);
  operation.Walk({0, operation.length}, [&](const Segment& piece) {
    stays = stays && context_.world.bus().IsHost(piece.address);
  });
  return stays;
}

void Neighbour::Divide(Operation& operation) const {
  operation.Divide(StaysHere(operation, operation.length) ? kMostStaying : kMostInMessage);
  operation.next_packet = operation.packets;
}

template <typename Fill>
void Neighbour::Put(const Message& message, Fill fill) {
  if (!present()) return;
  const std::size_t bytes = sizeof(Message) + message.payload_bytes;
  std::byte* room = waiting_.empty() ? channel_->Reserve(bytes) : nullptr;
  if (room == nullptr) {
    waiting_.emplace_back(bytes);
    waiting_bytes_ += bytes;
    room = waiting_.back().data();
  } else {
    ++context_.messages_sent;
  }
  std::memcpy(room, &message, sizeof(Message));
  if (message.payload_bytes > 0) fill(room + sizeof(Message));
  unannounced_ = true;
}

void Neighbour::Put(const Message& message) {
  Put(message, [](std::byte*) {});
}

void Neighbour::Flush() {
  if (across_.doubtful && present()) Probe();  // the rights may be gone, not the bytes alone
  if (!unannounced_ && waiting_.empty()) return;
  if (!present()) return;
  while (!waiting_.empty()) {
    const std::vector<std::byte>& oldest = waiting_.front();
    std::byte* room = channel_->Reserve(oldest.size());
    if (room == nullptr) break;
    std::memcpy(room, oldest.data(), oldest.size());
    waiting_bytes_ -= oldest.size();
    waiting_.pop_front();
    ++context_.messages_sent;
    unannounced_ = true;
  }
  if (std::exchange(unannounced_, false)) channel_->Publish();
  if (Judge()) Refresh();
}

// Copies payload bytes [range) to `target`.
void Neighbour::Gather(const Operation& operation, Range range, std::byte* target) {
  if (operation.is_inline) {
    std::memcpy(target, operation.inline_data.data() + range.offset, range.length);
    return;
  }
  operation.Walk(range, [&](const Segment& piece) {
    context_.world.bus().Copy(target, PointerTo(piece.address), piece.length,
                              {.from = operation.initiator->index()});
    target += piece.length;
  });
}

bool Neighbour::SendPacket(const Operation& operation, std::uint32_t packet, Range range) {
  if (waiting_bytes_ > kMostWaiting) return false;
  Message message = Describe(operation);
  message.type = MessageType::kPacket;
  message.packet = packet;
  message.initiator_nic = static_cast<std::uint8_t>(operation.initiator->gid.back());
  message.target_nic = static_cast<std::uint8_t>(operation.peer->gid.back());
  const bool stays = WasToStay(operation) || StaysHere(operation, range.length);
  operation.Walk({0, operation.length}, [&](const Segment& piece) {
    message.sources[message.source_count++] = {piece.address, piece.length};
  });
  ForwardVerdict verdict;
  if (operation.faulted) {
    verdict = context_.world.surroundings().faults->OnForward(operation, range);
    range.length = verdict.kept_bytes;
    message.cut = 1;
    if (!verdict.announces) message.has_immediate = 0;
  }
  SetPlace(range, stays, message);
  Put(message, [&](std::byte* target) {
    Gather(operation, range, target);
    for (const FlippedBits& bits : verdict.flipped) {
      const std::uint64_t at = bits.byte - range.offset;  // huge if it is before
      if (at < range.length) target[at] ^= bits.mask;
    }
  });
  if (!operation.abroad && !operation.datagram) ++abroad_;
  return true;
}

bool Neighbour::SendReadData(const Operation& shadow, std::uint32_t packet, Range range) {
  if (waiting_bytes_ > kMostWaiting) return false;
  const std::uint64_t address = shadow.remote_address + range.offset;
  Message message;
  message.type = MessageType::kReadData;
  message.operation = static_cast<const Payload*>(shadow.payload)->foreign();
  message.packet = packet;
  message.packet_bytes = static_cast<std::uint32_t>(shadow.packet_bytes);
  const bool stays =
      WasToStay(shadow) || (MayReadUs(range.length) && context_.world.bus().IsHost(address));
  SetPlace(range, stays, message);
  Put(message, [&](std::byte* target) {
    context_.world.bus().Copy(target, PointerTo(address), range.length,
                              {.from = shadow.peer->index()});
  });
  return true;
}

void Neighbour::SendAnswer(const Operation& shadow) {
  Message message;
  message.type = MessageType::kAnswer;
  message.operation = static_cast<const Payload*>(shadow.payload)->foreign();
  message.status = shadow.status;
  Put(message);
}

void Neighbour::SendLost(const Operation& shadow) {
  Message message;
  message.type = MessageType::kLost;
  message.operation = static_cast<const Payload*>(shadow.payload)->foreign();
  Put(message);
}

void Neighbour::SendEnded(const Operation& operation) {
  --abroad_;
  reads_.erase(operation.id.Pack());
  const bool read_to_the_end = operation.kind == OperationKind::kRead && operation.status == 0;
  const bool gone_there = answering_ ? !StaysKnown(operation.kind, operation.status)
                                     : operation.answered && read_to_the_end;
  if (gone_there) return;
  Message message;
  message.type = MessageType::kEnded;
  message.operation = operation.id.Pack();
  Put(message);
}

void Neighbour::Forget(const Operation& shadow) {
  const auto found = shadows_.find(static_cast<const Payload*>(shadow.payload)->foreign());
  if (found == shadows_.end()) return;
  const std::uint8_t status = shadow.silent ? 1 : shadow.status;
  if (!StaysKnown(shadow.kind, status)) {
    shadows_.erase(found);
    return;
  }
  found->second.over = true;
}

// ---- Taking ----

bool Neighbour::Take() {
  if (!present()) return false;
  bool took = false;
  std::span<const std::byte> bytes;
  while (channel_->Next(bytes)) {
    if (!Handle(bytes)) {
      Distrust();
      return true;
    }
    ++context_.messages_taken;
    took = true;
    channel_->Release();
  }
  return Judge() || took;
}

bool Neighbour::Handle(std::span<const std::byte> bytes) {
  const std::optional<Incoming> incoming = Parse(bytes);
  if (!incoming.has_value()) return false;
  const Message& message = incoming->message;
  if (message.type == MessageType::kPacket) return TakePacket(*incoming);
  if (message.type == MessageType::kEnded) {
    TakeEnded(message);
    return true;
  }
  Operation* operation = OursOf(message);
  if (operation == nullptr) return true;  // it has ended meanwhile
  switch (message.type) {
    case MessageType::kReadData:
      return TakeReadData(*incoming, *operation);
    case MessageType::kAnswer:
      TakeAnswer(message, *operation);
      return true;
    default:
      FallSilent(context_.world.surroundings(), *operation);
      return true;
  }
}

// The operation that the other process speaks of, when it is one that it may speak of.
Operation* Neighbour::OursOf(const Message& message) {
  Operation* operation = context_.world.operations().Find(OperationId::Unpack(message.operation));
  const bool its = operation != nullptr && operation->abroad && !operation->ended &&
                   context_.OwnerOf(*operation->peer) == this;
  return its ? operation : nullptr;
}

bool Neighbour::IsSound(const Message& message) const {
  const DeviceAttributes& device = context_.node.profile().device;
  const auto kind = static_cast<OperationKind>(message.kind);
  const bool send = kind == OperationKind::kSend;
  if (!send && kind != OperationKind::kWrite && kind != OperationKind::kRead) return false;
  if (message.initiator_nic >= proxies_.size() || message.target_nic >= proxies_.size()) {
    return false;
  }
  if (message.datagram != 0 && !send) return false;
  if (message.source_count > message.sources.size()) return false;
  return message.length <= (send ? device.mtu : device.max_rdma_size) &&
         DividesSoundly(message, message.length, context_.node.profile());
}

// Bytes of the packets in which we send the data that it reads.
std::uint64_t Neighbour::MostOfRead(const Message& message) const {
  const Profile& profile = context_.node.profile();
  const std::uint64_t mtu = profile.device.mtu;
  if (message.packet_bytes <= mtu || !profile.instant) return mtu;
  const bool stays =
      MayReadUs(message.length) && context_.world.bus().IsHost(message.remote_address);
  return std::min<std::uint64_t>(message.packet_bytes, stays ? kMostStaying : kMostInMessage);
}

Neighbour::Shadow& Neighbour::MakeShadow(const Message& message) {
  Operation& operation = context_.world.surroundings().StartOperation();
  operation.initiator = &ProxyOf(message.initiator_nic);
  operation.peer = &context_.node.nic(message.target_nic).state();
  operation.kind = static_cast<OperationKind>(message.kind);
  operation.datagram = message.datagram != 0;
  operation.has_immediate = message.has_immediate != 0;
  operation.unsolicited_immediates = message.unsolicited_immediates != 0;
  operation.immediate = message.immediate;
  operation.length = message.length;
  operation.remote_address = message.remote_address;
  operation.remote_key = message.remote_key;
  operation.queue_pair = message.queue_pair;
  operation.qkey = message.qkey;
  operation.destination_queue_pair = message.destination_queue_pair;
  operation.destination_qkey = message.destination_qkey;
  operation.rnr_retries = message.rnr_retries;
  const bool read = operation.kind == OperationKind::kRead;
  operation.Divide(read ? MostOfRead(message) : message.packet_bytes);
  operation.next_packet = read ? 0 : operation.packets;
  const auto made = shadows_.emplace(
      message.operation,
      Shadow{Payload(message.operation, context_.world.bus(), across_), operation.id});
  operation.payload = &made.first->second.payload;
  return made.first->second;
}

bool Neighbour::TakePayload(const Incoming& incoming, Range range, Payload& payload,
                            std::span<const Segment> sources) {
  const bool cut = incoming.message.cut != 0;
  if (cut && incoming.message.place != PayloadPlace::kSender) {
    if (incoming.payload.size() > range.length) return false;
    payload.Add(range, incoming.payload);
    context_.bytes_in_messages += incoming.payload.size();
    return true;
  }
  switch (incoming.message.place) {
    case PayloadPlace::kNone:
      return range.length == 0;
    case PayloadPlace::kMessage:
      if (incoming.payload.size() != range.length) return false;
      payload.Add(range, incoming.payload);
      context_.bytes_in_messages += range.length;
      return true;
    default:
      if (range.length == 0 || is_far()) return false;
      // When its memory can be read no more, the bytes will not be there.
      if (!payload.has_sources()) payload.SetSources(incarnation_, sources);
      return true;
  }
}

bool Neighbour::TakePacket(const Incoming& incoming) {
  const Message& message = incoming.message;
  if (!IsSound(message)) return false;
  auto found = shadows_.find(message.operation);
  if (found == shadows_.end()) {
    if (shadows_.size() >= kMostShadows) return false;
    MakeShadow(message);
    found = shadows_.find(message.operation);
  }
  Shadow& shadow = found->second;
  Operation* operation = shadow.over ? nullptr : context_.world.operations().Find(shadow.id);
  if (operation == nullptr || operation->ended) return true;
  const std::uint32_t packet = PacketFlags::NumberOf(message.packet);
  if (packet >= operation->packets) return false;
  if (++shadow.arrivals > kMostArrivals * operation->packets) return false;
  Range range = operation->PacketRange(packet);
  if (operation->kind == OperationKind::kRead) range = {};
  std::array<Segment, kMostSendSegments> sources;
  for (std::size_t i = 0; i < message.source_count; ++i) {
    sources[i] = {.address = message.sources[i].address,
                  .length = static_cast<std::uint32_t>(message.sources[i].length),
                  .lkey = 0};
  }
  if (!TakePayload(incoming, range, shadow.payload,
                   std::span(sources).first(message.source_count))) {
    return false;
  }
  ArrivePacket(context_.world.surroundings(), *operation, message.packet, range.length);
  return true;
}

bool Neighbour::TakeReadData(const Incoming& incoming, Operation& operation) {
  const Message& message = incoming.message;
  if (operation.kind != OperationKind::kRead) return false;
  if (!DividesSoundly(message, operation.length, context_.node.profile())) return false;
  const auto [entry, first] =
      reads_.try_emplace(operation.id.Pack(), operation.id.Pack(), context_.world.bus(), across_);
  if (first) {
    operation.Divide(message.packet_bytes);
    operation.next_packet = operation.packets;
  }
  const std::uint32_t packet = PacketFlags::NumberOf(message.packet);
  if (packet >= operation.packets) return false;
  const Range range = operation.PacketRange(packet);
  Payload& payload = entry->second;
  operation.payload = &payload;
  const Segment source{.address = operation.remote_address,
                       .length = static_cast<std::uint32_t>(operation.length),
                       .lkey = 0};
  if (!TakePayload(incoming, range, payload, {&source, 1})) return false;
  ArriveReadData(context_.world.surroundings(), operation, message.packet, range.length);
  return true;
}

void Neighbour::TakeAnswer(const Message& message, Operation& operation) {
  answering_ = true;
  sim::TakeAnswer(context_.world.surroundings(), operation, message.status);
  answering_ = false;
}

void Neighbour::TakeEnded(const Message& message) {
  const auto found = shadows_.find(message.operation);
  if (found == shadows_.end()) return;
  Operation* operation =
      found->second.over ? nullptr : context_.world.operations().Find(found->second.id);
  if (operation != nullptr) context_.world.surroundings().EndOperation(*operation);
  shadows_.erase(message.operation);
}

}  // namespace drydock::sim
