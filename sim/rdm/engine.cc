#include "drydock/sim/rdm/engine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "drydock/sim/rdm/device_context.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Access;
using fabric::Capability;
using fabric::ErrorCode;

// Completions taken from the device at once (FI_EFA_EFA_CQ_READ_SIZE).
constexpr std::size_t kReadBatch = 50;

// A packet that came before its sender was inserted is reported without a name. It is on its way
// from the device to its queue for less than this.
constexpr coro::Duration kSettling = std::chrono::milliseconds(1);

// Every work request of a queue pair that the device gave up ends like this.
constexpr Outcome kFlushed{ErrorCode::kCanceled, 1};

std::uint64_t FeaturesOf(const fabric::NicInfo& nic) {
  const auto feature = [&](Capability capability, std::uint64_t bit) {
    return nic.capabilities.Has(capability) ? bit : 0;
  };
  return feature(Capability::kRemoteRead, kFeatureDeviceRead) |
         feature(Capability::kRemoteWrite, kFeatureDeviceWrite) |
         feature(Capability::kUnsolicitedImmediate, kFeatureUnsolicitedWrite) |
         feature(Capability::kSourceAddress, kFeatureNamesSource);
}

std::size_t OrElse(std::size_t wanted, std::size_t otherwise) {
  return wanted != 0 ? std::min(wanted, otherwise) : otherwise;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> Engine::Open(const EngineOptions& options) {
  const fabric::NicInfo& nic = options.device.nic();
  const fabric::Limits& limits = nic.limits;
  const std::size_t depth = std::max({options.queue_depth, limits.completion_queue_depth,
                                      limits.send_queue_depth + limits.receive_queue_depth});
  auto queue = options.device.OpenCompletionQueue({.depth = depth});
  if (!queue.ok()) return queue.status();
  fabric::EndpointOptions endpoint_options{.send_queue = queue->get(),
                                           .receive_queue = queue->get(),
                                           .address_vector = &options.book->device()};
  if (nic.capabilities.Has(Capability::kReceiverNotReadyRetry)) {
    endpoint_options.receiver_not_ready_retries =
        options.retries.value_or(options.settings.receiver_not_ready_retries);
  }
  auto endpoint = options.device.OpenEndpoint(endpoint_options);
  if (!endpoint.ok()) return endpoint.status();
  const auto packet_bytes = static_cast<std::size_t>(limits.max_message_bytes);
  const bool writes = nic.capabilities.Has(Capability::kRemoteWrite);
  const Access injected = writes ? Access::kWrite : Access::kNone;
  auto send_pool = PacketPool::Open(options.device,
                                    OrElse(options.settings.send_packets, limits.send_queue_depth),
                                    packet_bytes, Access::kSend | injected);
  if (!send_pool.ok()) return send_pool.status();
  auto receive_pool = PacketPool::Open(
      options.device, OrElse(options.settings.receive_packets, limits.receive_queue_depth),
      packet_bytes, Access::kReceive);
  if (!receive_pool.ok()) return receive_pool.status();
  Parts parts{*std::move(queue), *std::move(endpoint), *std::move(send_pool),
              *std::move(receive_pool)};
  return std::unique_ptr<Engine>(new Engine(options, std::move(parts)));
}

Engine::Engine(const EngineOptions& options, Parts parts)
    : alarm_(options.alarm),
      sinks_{&options.sends, &options.receives},
      memory_(options.memory),
      owner_(options.owner),
      seen_removals_(options.memory.removals()),
      device_queue_(std::move(parts.queue)),
      peers_(options.book, options.settings, parts.endpoint->address()),
      device_(std::move(parts.endpoint)),
      packets_(std::move(parts.send_pool), *device_, options.alarm, statistics_,
               options.settings.answer_bytes),
      receiver_(std::move(parts.receive_pool), *device_, options.settings.refill),
      reporter_(options.owner, options.sends, options.receives, options.alarm,
                options.limits.send_queue_depth, options.counters),
      services_{.settings = options.settings,
                .payload_bytes = options.device.nic().limits.max_message_bytes - kMaxHeaderBytes,
                .max_rma_bytes = options.device.nic().limits.max_rma_bytes,
                .features = FeaturesOf(options.device.nic()),
                .memory = options.memory,
                .device = *device_,
                .packets = packets_,
                .reporter = reporter_,
                .statistics = statistics_},
      receives_(options.limits.receive_queue_depth, options.limits.multi_receive_bytes,
                options.settings.unexpected_messages, options.settings.unexpected_bytes),
      target_(services_, operations_, receives_),
      initiator_(services_, operations_, peers_, options.limits.inject_bytes) {
  for (CompletionSink* sink : sinks_) sink->AddSource(*this);
  reporter_.counters().ForEach([this](CounterCore& counter) { counter.AddSource(*this); });
}

Engine::~Engine() {
  device_->Close().IgnoreError();
  Detach();
}

void Engine::Detach() {
  reporter_.Detach();
  reporter_.counters().ForEach([this](CounterCore& counter) { counter.RemoveSource(*this); });
  for (CompletionSink* sink : std::exchange(sinks_, {})) {
    sink->RemoveSource(*this);
    sink->Drop(owner_);
  }
}

bool Engine::Leave() {
  Detach();
  bool touches_memory = false;
  std::vector<std::pair<Peer*, OperationId>> waiting;
  operations_.Any([&](const Operation& operation) {
    touches_memory = touches_memory || operation.TouchesMemory();
    const OperationId waits = operation.ToTell();
    if (waits != kNoOperation) waiting.emplace_back(&operation.peer(), waits);
    return false;
  });
  // Only the end of the queue pair stops the device's work.
  if (touches_memory || device_lost_) return false;
  leaving_ = true;
  leaves_until_ = coro::After(alarm_.Now(), services_.settings.farewell);
  operations_.Clear();
  initiator_.ForgetWaiting();
  const std::uint64_t before = told_;
  for (const auto& [peer, operation] : waiting) TellGone(*peer, operation);
  peers_.ForEach([this](Peer& peer) {
    peer.window.ForEach([&](const HeldPacket& packet) { Decline(peer, Decode(packet)->header); });
  });
  for (const Stalled& packet : stalled_) {
    Decline(*packet.peer, Decode(receiver_.bytes(packet.index, packet.length_bytes))->header);
  }
  PollDevice();  // a peer that has asked meanwhile is told as well
  packets_.Flush();
  return told_ != before;
}

void Engine::Decline(Peer& peer, const PacketHeader& request) {
  if (request.reply != kNoOperation && AwaitsAnswer(request.kind)) TellGone(peer, request.reply);
}

void Engine::TellGone(Peer& peer, OperationId operation) {
  ++told_;
  packets_.SendAnswer(
      peer, {.kind = PacketKind::kPeerError, .operation = operation, .tag = kErrorPeerAborted});
}

// ---- The device's reports ----

ErrorCode Engine::MakeProgress() {
  const bool had_device = !device_lost_;
  const ErrorCode error = PollDevice();
  if (had_device && device_lost_) OnDeviceLost();
  while (const std::optional<SentPacket> refused = packets_.TakeRefused()) OnSent(*refused);
  if (std::exchange(seen_removals_, memory_.removals()) != memory_.removals()) {
    operations_.ForEach([](Operation& operation) { operation.OnMemoryRemoved(); });
  }
  if (receives_.changes() != seen_changes_) RetryStalled();
  packets_.Tick();
  initiator_.AskAgain();
  operations_.RunBlocked();
  Refill();
  packets_.Flush();
  return error;
}

ErrorCode Engine::PollDevice() {
  std::array<fabric::Completion, kReadBatch> entries;
  ErrorCode error = ErrorCode::kOk;
  fabric::ReadResult result;
  do {
    result = device_queue_->Read(entries);
    if (result.error != ErrorCode::kOk) error = result.error;
    for (std::size_t i = 0; i < result.count; ++i) OnCompletion(entries[i]);
  } while (result.count == entries.size());
  OnQueueEmpty();
  return error;
}

void Engine::OnQueueEmpty() {
  const coro::Time now = alarm_.Now();
  if (now - staged_at_ < kSettling) return;
  settled_ = std::exchange(staged_, peers_.book().next_number());
  staged_at_ = now;
}

void Engine::OnCompletion(const fabric::Completion& completion) {
  if (completion.kind == fabric::OperationKind::kRemoteWrite) OnRemoteWrite(completion);
  if (!completion.context.has_value()) return;
  const std::uint64_t number = NumberOf(*completion.context);
  switch (RequestOf(*completion.context)) {
    case DeviceRequest::kPacketSend: {
      const auto sent = packets_.OnCompletion(static_cast<std::uint32_t>(number), completion);
      if (sent.has_value()) OnSent(*sent);
      break;
    }
    case DeviceRequest::kPacketReceive:
      OnReceived(static_cast<std::uint32_t>(number), completion);
      break;
    case DeviceRequest::kTransfer:
      OnTransferred(number, completion);
      break;
  }
}

// A receive of ours that such a write has taken comes back like any other.
void Engine::OnRemoteWrite(const fabric::Completion& completion) {
  fabric::Completion told = completion;
  const auto from = peers_.book().FindDevicePeer(completion.source);
  told.context.reset();
  told.source = from == nullptr ? fabric::kNoPeer : from->handle;
  reporter_.RemotelyWritten(told);
}

void Engine::OnReceived(std::uint32_t index, const fabric::Completion& completion) {
  Peer* waits = nullptr;
  if (completion.ok() && completion.kind == fabric::OperationKind::kReceive) {
    waits = OnPacket(receiver_.bytes(index, completion.length_bytes), completion.source);
  } else if (completion.error == ErrorCode::kCanceled) {
    device_lost_ = true;
  }
  if (waits != nullptr) {
    ++statistics_.stalled;
    stalled_.push_back({index, completion.length_bytes, waits});
    receiver_.Keep();
  } else {
    receiver_.GiveBack(index);
  }
  Refill();
}

// What a lost device gets comes back at once, again and again.
void Engine::Refill() {
  if (!device_lost_) receiver_.Refill();
}

void Engine::RetryStalled() {
  seen_changes_ = receives_.changes();
  const std::vector<Stalled> waiting = std::exchange(stalled_, {});
  for (const Stalled& packet : waiting) packet.peer->due_stalled = false;
  target_.Resume();
  for (const Stalled& packet : waiting) {
    const std::span<const std::byte> bytes = receiver_.bytes(packet.index, packet.length_bytes);
    if (target_.OnRequest(*packet.peer, *Decode(bytes), bytes)) {
      receiver_.ReleaseKept(packet.index);
    } else {
      stalled_.push_back(packet);
    }
  }
  Refill();
}

void Engine::PostReceive(const PostedReceive& receive) {
  target_.PostReceive(receive);
  if (!stalled_.empty() || target_.stuck()) RetryStalled();
  if (device_lost_) target_.EndReceives(kFlushed);
}

void Engine::OnSent(const SentPacket& sent) {
  if (Operation* owner = operations_.Find(sent.owner)) {
    owner->OnPacketSent(sent.outcome);
    operations_.Run(*owner);
  }
  // The peer's next packet is answered again.
  if (sent.owner == kHandshakeAnswer && !sent.outcome.ok()) sent.peer->handshake_sent = false;
  const bool gone = MeansPeerIsGone(sent.outcome.error) ||
                    (sent.owner == kHandshakeTrigger && !sent.outcome.ok());
  if (gone) OnPeerGone(*sent.peer, sent.outcome);
}

void Engine::OnTransferred(OperationId id, const fabric::Completion& completion) {
  Operation* operation = operations_.Find(id);
  if (operation == nullptr) return;
  Peer& peer = operation->peer();
  const Outcome outcome =
      FromDevice(completion.error, completion.provider_error, peer.handshake_received);
  operation->OnTransferred(outcome);
  operations_.Run(*operation);
  if (MeansPeerIsGone(outcome.error)) OnPeerGone(peer, outcome);
}

void Engine::OnPeerGone(Peer& peer, const Outcome& outcome) {
  initiator_.OnPeerGone(peer, outcome);
  operations_.ForEach([&](Operation& operation) {
    if (&operation.peer() == &peer) operation.OnPeerGone(outcome);
  });
}

void Engine::OnDeviceLost() {
  peers_.ForEach([this](Peer& peer) { initiator_.OnPeerGone(peer, kFlushed); });
  operations_.ForEach([](Operation& operation) { operation.OnPeerGone(kFlushed); });
  target_.EndReceives(kFlushed);
}

// ---- Packets of peers ----

Peer* Engine::OnPacket(std::span<const std::byte> bytes, fabric::Peer device_source) {
  const std::optional<Packet> packet = Decode(bytes);
  if (!packet.has_value()) {
    ++statistics_.malformed;
    return nullptr;
  }
  Peer* peer = Identify(packet->header, device_source);
  if (peer == nullptr) return nullptr;
  ShakeHands(*peer);
  if (packet->header.kind == PacketKind::kHandshake) {
    OnHandshake(*peer, packet->header);
  } else if (IsAnswer(packet->header.kind)) {
    OnAnswer(*peer, *packet);
  } else if (leaving_) {
    Decline(*peer, packet->header);
  } else if (!target_.OnRequest(*peer, *packet, bytes)) {
    return peer;
  }
  return nullptr;
}

Peer* Engine::Identify(const PacketHeader& header, fabric::Peer device_source) {
  AddressBook& book = peers_.book();
  const auto named = book.FindDevicePeer(device_source);
  if (named != nullptr) {
    // The device knows the queue pair; the connid says which endpoint of those that had it.
    if (auto known = book.FindConnid(*named, header.connid)) return &peers_.Of(std::move(known));
    if (!header.source.has_value() || !SameQueuePair(*header.source, named->address)) {
      ++statistics_.wrong_connid;
      return nullptr;
    }
  }
  if (!header.source.has_value()) {
    ++statistics_.unknown_sender;
    return nullptr;
  }
  if (ConnidOf(*header.source) != header.connid) {
    ++statistics_.wrong_connid;
    return nullptr;
  }
  // Where the device names senders that we know, one that it does not name is none of them, unless
  // its packet came before we knew it.
  const auto known = book.FindAddress(*header.source);
  const bool impostor = named == nullptr && (services_.features & kFeatureNamesSource) != 0 &&
                        known != nullptr && known->number < settled_;
  const bool crowded = known == nullptr && peers_.strangers() >= services_.settings.strangers;
  auto entry = impostor || crowded ? absl::NotFoundError("") : book.Use(*header.source);
  if (!entry.ok()) {
    ++statistics_.unknown_sender;
    return nullptr;
  }
  return &peers_.Of(*std::move(entry));
}

void Engine::ShakeHands(Peer& peer) {
  if (peer.handshake_sent) return;
  peer.handshake_sent = true;
  packets_.SendAnswer(peer, {.kind = PacketKind::kHandshake, .tag = services_.features}, {},
                      kHandshakeAnswer);
}

void Engine::OnHandshake(Peer& peer, const PacketHeader& header) {
  if (peer.handshake_received) {
    ++statistics_.duplicates;
    return;
  }
  peer.handshake_received = true;
  peer.features = header.tag;
  initiator_.OnHandshake(peer);
}

void Engine::OnAnswer(Peer& peer, const Packet& packet) {
  const PacketHeader& header = packet.header;
  Operation* operation = operations_.Find(header.operation, peer);
  if (operation != nullptr && operation->OnPacket(packet)) {
    operations_.Run(*operation);
    return;
  }
  ++statistics_.strays;
  // A peer that asks us to send a message that we gave up must not wait for ever.
  const bool asks = header.kind == PacketKind::kCts || header.kind == PacketKind::kReadNack;
  if (operation == nullptr && asks && header.reply != kNoOperation) TellGone(peer, header.reply);
}

}  // namespace drydock::sim::rdm
